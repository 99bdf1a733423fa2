#include "tasks/options/EvaluateOptions.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "config/DeckLimits.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostPrompts = 20;

/// The questions and prompts that a language model is to answer.
void read_generation(Section& evaluate, EvaluateOptions& options) {
  if (evaluate.has("questions")) {
    Section section = evaluate.section("questions");
    QuestionOptions& questions = options.questions.emplace();
    questions.file = section.has("file") ? section.path("file", "") : section.require<std::string>("file");
    questions.limit = section.optional_in_range<std::int64_t>("limit", 1, kMany);
    questions.max_new = section.get_in_range<std::int64_t>("max_new", questions.max_new, 1, kMostNewTokens);
  }
  options.prompts = evaluate.list<std::string>("prompts", {});
  options.max_new = evaluate.get_in_range<std::int64_t>("max_new", options.max_new, 1, kMostNewTokens);
  if (options.prompts.size() > kMostPrompts)
    evaluate.reject("prompts", fmt::format("expected at most {} texts, got {}", kMostPrompts, options.prompts.size()));
  if (std::find(options.prompts.begin(), options.prompts.end(), "") != options.prompts.end())
    evaluate.reject("prompts", "holds an empty text", "there is nothing to answer");
}

void read_early_stopping(Section& section, EvaluateOptions& evaluate) {
  evaluate.patience = section.get_in_range<std::int64_t>("patience", evaluate.patience, 0, kMany);
  evaluate.min_delta = section.get_in_range("min_delta", evaluate.min_delta, 0.0, std::numeric_limits<double>::max());
  if (evaluate.patience > 0 && evaluate.every_epochs == 0 && evaluate.every_steps == 0)
    section.reject("patience", "needs evaluations",
                   "evaluate.every_epochs and evaluate.every_steps are 0, or data.test is not set", "Set one of them.");
  if (evaluate.min_delta > 0 && evaluate.patience == 0)
    section.reject("min_delta", "belongs to evaluate.patience", "that is 0", "Set evaluate.patience too.");
}

/// Without test data nothing is evaluated by itself.
void leave_out_evaluations(Section& section, EvaluateOptions& evaluate) {
  const std::pair<const char*, bool> moments[] = {{"every_epochs", evaluate.every_epochs > 0},
                                                  {"every_steps", evaluate.every_steps > 0},
                                                  {"at_start", evaluate.at_start && !evaluate.questions}};
  for (const auto& [key, wanted] : moments)
    if (wanted && section.has(key))
      section.reject(key, "there is nothing to evaluate on", "data.test is not set", "Name the test shards.");
  evaluate.every_epochs = evaluate.every_steps = 0;
  evaluate.at_start = evaluate.at_start && evaluate.questions;
}

}  // namespace

// Values that follow from defaults are changed silently (every_epochs is 1 by default), values that the deck sets are
// refused: a key that has no effect would be a mistake that stays unnoticed.
EvaluateOptions read_evaluate_options(Section& section, HasTestData data, GeneratesText generates) {
  EvaluateOptions evaluate;
  if (generates == GeneratesText::yes) read_generation(section, evaluate);
  if (data == HasTestData::no) evaluate.every_epochs = 0;  // so that the resolved deck can be run
  evaluate.every_epochs = section.get_in_range<std::int64_t>("every_epochs", evaluate.every_epochs, 0, most::kEpochs);
  evaluate.every_steps = section.get_in_range<std::int64_t>("every_steps", evaluate.every_steps, 0, most::kSteps);
  evaluate.at_start = section.get("at_start", evaluate.at_start);
  evaluate.limit = section.optional_in_range<std::int64_t>("limit", 1, kMany);
  if (data == HasTestData::no) leave_out_evaluations(section, evaluate);
  read_early_stopping(section, evaluate);
  return evaluate;
}

DeckKeys evaluate_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"evaluate.every_epochs",
       any,
       bookkeeping,
       "every epochs",
       "epochs between evaluations; 0: not by epochs",
       {.fallback = "1, or 0 without `data.test`"}},
      {"evaluate.every_steps", any, bookkeeping, "every steps", "steps between evaluations; 0: not by steps"},
      {"evaluate.at_start", any, speed, "at start", "also before the first step"},
      {"evaluate.limit", any, speed, "evaluation limit", "evaluate the first samples only"},
      {"evaluate.patience", any, bookkeeping, "patience",
       "end the run after this many evaluations in a row that were not better; 0: train all steps"},
      {"evaluate.min_delta", any, bookkeeping, "min delta",
       "with `patience`: a smaller improvement of the accuracy, or of the loss of text, counts as none"},
      {"evaluate.questions.file",
       llm,
       speed,
       "questions",
       "JSON lines with `question` and `answer`; the answer ends with `####` and a number, as in GSM8K",
       {.fallback = "required with `questions`"}},
      {"evaluate.questions.limit", llm, speed, "number of questions", "ask only the first N", {.fallback = "all"}},
      {"evaluate.questions.max_new", llm, speed, "longest answer", "maximum number of tokens of an answer"},
      {"evaluate.prompts", llm, speed, "prompts",
       "at most 20 prompts whose answers before the first step and at the end are logged and kept"},
      {"evaluate.max_new", llm, speed, "max new", "maximum number of tokens of an answer to a prompt"},
  };
}

}  // namespace multicard
