#include "GenerateLine.hpp"

#include <memory>

#include <fmt/format.h>

#include "Commands.hpp"
#include "OptionWords.hpp"
#include "generation/GenerationOptions.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMostPromptsAtOnce = 1 << 16;

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

}  // namespace

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
  generate->add_flag("--shard", arguments->shard,
                     "Split the model's weights over the ranks of mpirun, for a model larger than a device; rank 0 "
                     "answers");
  generate->add_flag("--json", arguments->json, "Print one line of JSON with the token ids");
  generate->callback([&command, arguments] {
    if (!arguments->prompt && arguments->prompts.empty()) throw CLI::RequiredError("prompt or --prompts");
    command.run = [arguments](const Communicator& world) { return generate_command(*arguments, world); };
  });
}

}  // namespace multicard
