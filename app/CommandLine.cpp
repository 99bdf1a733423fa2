#include "CommandLine.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "Commands.hpp"
#include "Examples.hpp"
#include "GenerateLine.hpp"
#include "Help.hpp"
#include "OptionWords.hpp"
#include "PrepareLine.hpp"
#include "RecipesLine.hpp"
#include "WatchLine.hpp"
#include "base/BuildInfo.hpp"
#include "base/ErrorReport.hpp"
#include "base/Log.hpp"
#include "base/StandardOutput.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "cli/Complaint.hpp"
#include "cli/Completion.hpp"
#include "cli/HelpText.hpp"
#include "cli/WrongWords.hpp"
#include "watch/StatusSwitch.hpp"

namespace multicard {

namespace {

bool is_first_process() {
  // MPI is not started for help and wrong words, so the launcher must say which process speaks for all.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name)) return std::atoi(value) == 0;
  return true;
}

using DeckCommand = ExitCode (*)(const DeckArguments&, const Communicator&);

/// Words that replace values of the deck. \param name by which completion knows which keys the deck has
void add_overrides(CLI::App& app, std::vector<std::string>& overrides, const char* name = kKeyValue,
                   const char* example = "run.epochs=2") {
  app.add_option("overrides", overrides, fmt::format("Replaces a value of the deck, e.g. {}", example))
      ->type_name(name);
}

/// Returns where the arguments will stand, for options that only this command has.
DeckArguments& add_deck_command(CLI::App& app, Command& command, const std::string& command_line, const char* name,
                                const char* description, DeckCommand function) {
  auto arguments = std::make_shared<DeckArguments>();
  arguments->command_line = command_line;
  CLI::App* sub = app.add_subcommand(name, description);
  sub->add_option("deck", arguments->deck, "Deck (YAML)")->required();
  add_overrides(*sub, arguments->overrides);
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
  add_overrides(*eval, arguments->overrides);
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
  add_overrides(*plan, arguments->overrides, "SETTING=VALUE", "objective=fairness");
  plan->add_flag("--json", arguments->json, "Print a line of JSON for each machine to standard output");
  plan->add_option("--svg", arguments->svg, "Write a picture (SVG): which task has which GPUs when");
  plan->callback([&command, arguments] {
    command.run = [arguments](const Communicator& world) { return plan_command(*arguments, world); };
  });
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

/// Gives each command of `app`, whose path is `path`, its examples.
void add_examples(CLI::App& app, const std::string& path) {
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    const std::string name = path.empty() ? sub->get_name() : path + " " + sub->get_name();
    sub->footer(examples_of(name));
    add_examples(*sub, name);
  }
}

/// What the program is and which commands it has.
void describe_program(CLI::App& app, Command& command, const std::string& command_line) {
  app.set_version_flag("-V,--version", version_text(), "Print the version");
  app.footer(
      "multicard help COMMAND describes one of them, multicard help KEY a key of decks, multicard help keys WORD those "
      "about something, multicard help --search WORD looks everywhere, multicard help formats shows what is read of "
      "others' files.");
  app.require_subcommand(1);
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
  add_recipes(app, command);
  add_examples(app, "");
}

std::string help_of_program(const CLI::App& app) {
  const CLI::App& at = innermost_parsed(app);
  const std::string before = at.get_parent() == nullptr ? "" : path_of(*at.get_parent());
  return wrapped_help(help_text(described(at, before)), kHelpColumn);
}

std::optional<int> parse(int argc, const char* const* argv, Command& command) {
  CLI::App app(
      "Train image classifiers and fine-tune language models on the ranks of an MPI job, and measure every step.",
      "multicard");
  describe_program(app, command, join(std::vector<std::string>(argv, argv + argc), " "));
  const std::vector<std::string> typed{argv + 1, argv + argc};
  std::vector<std::string> words = without_help_word(typed);
  try {
    if (!is_first_process() && !typed.empty() && typed.front() == "help") return static_cast<int>(ExitCode::complete);
    if (const std::optional<std::string> help = help_on(typed, described(app))) {
      print(*help);
      return static_cast<int>(ExitCode::complete);
    }
    check_words(app, words);
    // Wrong words in variables are said before anything starts.
    progress_mode();
    is_status_wanted();
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
    if (command.run_alone && !is_first_process()) return static_cast<int>(ExitCode::complete);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    if (is_first_process()) print(help_of_program(app));
  } catch (const CLI::CallForVersion&) {
    if (is_first_process()) print(version_text() + "\n");
  } catch (const CLI::ParseError& error) {
    throw usage_error(app, error);
  }
  return static_cast<int>(ExitCode::complete);
}

}  // namespace

std::optional<int> parse_command_line(int argc, const char* const* argv, Command& command) {
  try {
    return parse(argc, argv, command);
  } catch (const Error& error) {  // a wrong word, or help that cannot be written
    if (is_first_process()) log_error(error_report(error));
    return static_cast<int>(error.code());
  }
}

}  // namespace multicard
