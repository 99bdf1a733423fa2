#include "CommandLine.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "Commands.hpp"
#include "HelpFormats.hpp"
#include "HelpKeys.hpp"
#include "OptionWords.hpp"
#include "PrepareLine.hpp"
#include "WatchLine.hpp"
#include "WrongWords.hpp"
#include "base/BuildInfo.hpp"
#include "base/Log.hpp"
#include "base/Shown.hpp"
#include "base/StandardOutput.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "generation/GenerationOptions.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMostPromptsAtOnce = 1 << 16;
constexpr std::size_t kHelpColumn = 34;  ///< where the descriptions of commands and options begin

bool is_first_process() {
  // MPI is not started for help and wrong words, so the launcher must say which process speaks for all.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name)) return std::atoi(value) == 0;
  return true;
}

using DeckCommand = ExitCode (*)(const DeckArguments&, const Communicator&);

/// Returns where the arguments will stand, for options that only this command has.
DeckArguments& add_deck_command(CLI::App& app, Command& command, const std::string& command_line, const char* name,
                                const char* description, DeckCommand function) {
  auto arguments = std::make_shared<DeckArguments>();
  arguments->command_line = command_line;
  CLI::App* sub = app.add_subcommand(name, description);
  sub->add_option("deck", arguments->deck, "Deck (YAML)")->required();
  sub->add_option("overrides", arguments->overrides, "key.path=value, replaces a value of the deck");
  sub->add_flag("--dry-run", arguments->dry_run, "Check the deck, the data and the world size, then stop");
  sub->add_flag("--print-config", arguments->print_config, "Print the resolved deck to standard output, then stop");
  sub->add_flag("--smoke", arguments->smoke,
                "A few steps that show that everything works, before a long job: results go to OUTPUT_smoke");
  sub->add_flag("--quiet", arguments->quiet, "Only warnings, errors and the path of the results");
  // Called once the whole line is understood; the arguments live as long as the function that holds them.
  sub->callback([&command, arguments, function] {
    command.run = [arguments, function](const Communicator& world) { return function(*arguments, world); };
    command.stops_in_order = !arguments->only_shows();
  });
  return *arguments;
}

void add_what_fits(CLI::App& run, DeckArguments& arguments) {
  CLI::Option* what_fits =
      run.add_flag("--what-fits", arguments.what_fits,
                   "Print which tuning methods, lengths and micro-batches fit the memory of a rank, then stop")
          ->excludes(run.get_option("--dry-run"));
  run.add_option("--memory", arguments.memory, "With --what-fits: for so much memory instead, e.g. 80GB")
      ->needs(what_fits);
}

void add_eval(CLI::App& app, Command& command, const std::string& command_line) {
  auto arguments = std::make_shared<EvalArguments>();
  arguments->command_line = command_line;
  CLI::App* eval = app.add_subcommand(
      "eval", "Score a trained model on the test shards: images class by class, text by loss and perplexity");
  eval->add_option("source", arguments->source, "Deck (YAML), or a checkpoint folder")->required();
  eval->add_option("overrides", arguments->overrides, "key.path=value, replaces a value of the deck");
  eval->add_option("-o,--output", arguments->output,
                   "Results file; default: eval.h5 in run.output, with evaluate.limit=N eval_limitN.h5");
  eval->add_flag("--json", arguments->json, "Print the scores as JSON to standard output");
  eval->callback([&command, arguments] {
    command.run = [arguments](const Communicator& world) { return eval_command(*arguments, world); };
  });
}

void add_plan(CLI::App& app, Command& command) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* plan =
      app.add_subcommand("plan", "Compute from measured rates which task gets how many GPUs, and when; needs no GPU");
  plan->add_option("deck", arguments->deck, "Plan deck (YAML)")->required();
  plan->add_option("overrides", arguments->overrides, "key.path=value, replaces a value of the deck");
  plan->add_flag("--json", arguments->json, "Print a line of JSON for each machine to standard output");
  plan->add_option("--svg", arguments->svg, "Write a picture (SVG): which task has which GPUs when");
  plan->callback([&command, arguments] {
    command.run = [arguments](const Communicator& world) { return plan_command(*arguments, world); };
  });
}

/// An option that takes one of `words`.
template <class E>
void add_word(CLI::App& app, const std::string& name, std::optional<E>& value, Words<E> words,
              const std::string& help) {
  app.add_option_function<std::string>(
         name, [&value, words](const std::string& word) { value = value_of<E>(word, words); }, help)
      ->check(CLI::IsMember(texts_of<E>(words)));
}

void add_export(CLI::App& app, Command& command) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* sub = app.add_subcommand("export", "Write a tuned language model as a PEFT or Hugging Face folder");
  sub->add_option("checkpoint", arguments->checkpoint, "Folder of the checkpoint")->required();
  sub->add_option("folder", arguments->folder, "Folder to create")->required();
  add_word<MergeBase>(*sub, "--merge", arguments->merge, kMergeBaseWords, "Add the adapter to these base weights");
  add_word<WeightDtype>(*sub, "--dtype", arguments->dtype, kWeightDtypeWords,
                        "Data type of the weights; default: the adapter's; for whole models the base model's");
  sub->add_flag("--int4", arguments->int4, "Convert the linear layers of a model tuned by qat or lora-qat to int4");
  sub->add_flag("--nf4", arguments->nf4, "Store the linear layers of a whole model in NF4, as bitsandbytes does");
  sub->callback([&command, arguments] {
    command.run = [arguments](const Communicator& world) { return export_command(*arguments, world); };
  });
}

void add_tokenize(CLI::App& app, Command& command) {
  auto arguments = std::make_shared<TokenizeArguments>();
  CLI::App* tokenize =
      app.add_subcommand("tokenize", "Read JSON strings, write JSON arrays of token ids, one per line");
  tokenize->add_option("tokenizer", arguments->tokenizer, "Model folder, tokenizer.json or tiktoken file")->required();
  tokenize->add_flag("--no-special", arguments->no_special,
                     "Add no special tokens; those written in the text are still recognised");
  tokenize->add_flag("--decode", arguments->decode, "Decode: arrays of ids in, strings out");
  tokenize->callback([&command, arguments] {
    command.run = [arguments](const Communicator& world) { return tokenize_command(*arguments, world); };
  });
}

/// CLI11 would turn -1 into the largest number.
/// \param what the option gives
CLI::Validator not_negative(const std::string& what) {
  return CLI::Validator(
      [what](const std::string& text) {
        return text.starts_with("-") ? fmt::format("{} is negative, {} is 0 or more", text, what) : std::string();
      },
      "");
}

/// How tokens of an answer are chosen.
void add_sampling(CLI::App& app, GenerateArguments& arguments) {
  CLI::Option* greedy =
      app.add_flag("--greedy", arguments.greedy, "Greedy decoding: always take the most probable token");
  app.add_option("--temperature", arguments.temperature,
                 "Sampling temperature: below 1 favours probable tokens, above 1 flattens the distribution")
      ->capture_default_str()
      ->excludes(greedy);
  app.add_option("--top-p", arguments.top_p,
                 "Nucleus sampling: draw from the smallest set of tokens with this total probability")
      ->capture_default_str()
      ->excludes(greedy);
  app.add_option("--top-k", arguments.top_k, "Draw from the tokens with the K largest logits; 0: from all")
      ->capture_default_str()
      ->check(not_negative("top-k"))
      ->excludes(greedy);
  app.add_option("--repetition-penalty", arguments.repetition_penalty,
                 "Divide the positive logits of tokens in prompt and answer by this, multiply the negative ones")
      ->capture_default_str();
  app.add_option("--stop", arguments.stops, "End the answer before this text; may be given several times")
      ->allow_extra_args(false);
  app.add_option("--seed", arguments.seed, "Seed of the sampling, 0 or more")
      ->capture_default_str()
      ->check(not_negative("a seed"));
}

void add_generate(CLI::App& app, Command& command) {
  auto arguments = std::make_shared<GenerateArguments>();
  CLI::App* generate =
      app.add_subcommand("generate", "Generate text with a language model: answer a prompt or continue it");
  generate->add_option("model", arguments->model, "Model folder, or a checkpoint of a language run")->required();
  CLI::Option* prompt = generate->add_option(
      "prompt", arguments->prompt,
      "The prompt; - reads it from standard input, byte for byte: a final newline is part of it (printf '%s' adds "
      "none, echo does)");
  generate
      ->add_option("--prompts", arguments->prompts,
                   "File of prompts instead: JSON lines or an array of texts or of objects with a member prompt, or a "
                   "table (.csv, .tsv); prints a line of JSON for each answer")
      ->excludes(prompt);
  generate->add_option("--batch", arguments->batch, "Prompts of the file that are answered at once, at most")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, kMostPromptsAtOnce));
  generate->add_option("--adapter", arguments->adapter, "PEFT folder");
  add_word<WeightDtype>(*generate, "--dtype", arguments->dtype, kWeightDtypeWords,
                        "Data type of the computation; default: that of the model folder");
  add_sampling(*generate, *arguments);
  generate->add_option("--max-new", arguments->max_new, "Maximum number of new tokens")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, kMostNewTokens));
  generate->add_flag("--ignore-eos", arguments->ignore_eos, "Keep generating after the end-of-text token");
  generate->add_option("--template", arguments->template_name,
                       "Prompt template; default: that of the training, else the folder's chat template");
  CLI::Option* date =
      generate->add_option("--date", arguments->date,
                           "Date that the chat template writes, YYYY-MM-DD; default: that of the training, else "
                           "2024-07-26");
  generate->add_flag("--raw", arguments->raw, "No template: continue the prompt as it is")->excludes(date);
  generate->add_flag("--json", arguments->json, "Print one line of JSON with the token ids");
  generate->callback([&command, arguments] {
    if (!arguments->prompt && arguments->prompts.empty()) throw CLI::RequiredError("prompt or --prompts");
    command.run = [arguments](const Communicator& world) { return generate_command(*arguments, world); };
  });
}

void add_info(CLI::App& app, Command& command) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App* info = app.add_subcommand("info", "Build, versions, ranks, devices and topology");
  info->add_flag("--selftest", arguments->selftest, "Also measure all-reduce, shard-read and file-system bandwidth");
  info->add_option("--deck", arguments->deck, "Deck whose model and shards the self-test uses");
  info->add_flag("--json", arguments->json, "Print JSON to standard output");
  info->callback([&command, arguments] {
    command.run = [arguments](const Communicator& world) { return info_command(*arguments, world); };
  });
}

std::string version_text() {
  const BuildInfo build = build_info();
  return fmt::format("multicard {} ({}), LibTorch {}, GPU path {}", build.version, build.git, build.torch,
                     build.cuda_compiled_in ? "compiled in" : "not compiled in");
}

/// Help and complaints of CLI11, which does not wrap its lines itself.
void print_exit(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, complaint;
  app.exit(error, out, complaint);
  std::cerr << shown(complaint.str());
  print(wrapped_help(out.str(), kHelpColumn));
}

std::optional<int> parse(int argc, const char* const* argv, Command& command) {
  CLI::App app(
      "Train image classifiers and fine-tune language models on the ranks of an MPI job, and measure every step.",
      "multicard");
  app.set_version_flag("-V,--version", version_text());
  app.footer(
      "multicard help COMMAND describes one of them, multicard help keys the keys of decks, multicard help "
      "formats those of others' files.");
  app.require_subcommand(1);
  app.get_formatter()->column_width(kHelpColumn);
  const std::string command_line = join(std::vector<std::string>(argv, argv + argc), " ");
  DeckArguments& run = add_deck_command(app, command, command_line, "run", "Train one task on all ranks", run_command);
  add_what_fits(*app.get_subcommand("run"), run);
  DeckArguments& sweep = add_deck_command(app, command, command_line, "sweep",
                                          "Run a matrix of variants into one results file", sweep_command);
  app.get_subcommand("sweep")
      ->add_flag("--quick", sweep.quick, "Run the smaller sweep defined by the deck's section quick")
      ->excludes(app.get_subcommand("sweep")->get_option("--smoke"));
  add_deck_command(app, command, command_line, "share", "Run several tasks on the ranks of one job", share_command);
  add_plan(app, command);
  add_prepare(app, command);
  add_eval(app, command, command_line);
  add_export(app, command);
  add_tokenize(app, command);
  add_generate(app, command);
  add_watch(app, command);
  add_info(app, command);
  const std::vector<std::string> typed{argv + 1, argv + argc};
  std::vector<std::string> words = without_help_word(typed);
  try {
    if (asks_for_keys(typed) || asks_for_formats(typed)) {
      const std::string help = asks_for_keys(typed) ? help_on_keys(typed) : help_on_formats(typed);
      if (is_first_process()) print(help);
      return static_cast<int>(ExitCode::complete);
    }
    check_words(app, words);
    progress_mode();                           // a wrong MULTICARD_PROGRESS is said before anything starts
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    const bool is_help = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    if (is_first_process()) print_exit(app, error);
    return static_cast<int>(is_help ? ExitCode::complete : ExitCode::usage);
  }
}

}  // namespace

std::optional<int> parse_command_line(int argc, const char* const* argv, Command& command) {
  try {
    return parse(argc, argv, command);
  } catch (const Error& error) {  // a wrong word, or help that cannot be written
    if (is_first_process()) log_error(error.what());
    return static_cast<int>(error.code());
  }
}

}  // namespace multicard
