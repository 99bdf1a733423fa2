#include <filesystem>
#include <memory>
#include <optional>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "dist/TensorCollectives.hpp"
#include "evaluation/EvaluatedModel.hpp"
#include "state/TensorFile.hpp"
#include "tasks/language/LanguageTask.hpp"
#include "tasks/language/ProvenanceMetadata.hpp"
#include "tasks/setup/RunContext.hpp"

namespace multicard {

namespace {

/// An adapter says of which base model it is. Called after the scores, since the base model is hashed in the background
/// meanwhile, and before anything is written.
void check_base_of(const EvaluationSubject& subject, const RunOptions& options, LanguageTask& task,
                   const Communicator& world) {
  if (subject.weights.empty() || !task.language_model().has_adapters()) return;
  task.finish_identity();
  agreed(world, [&] {
    if (!world.is_root()) return;
    const std::string checkpoint = std::filesystem::path(subject.weights).parent_path().string();
    const std::string hash = task.language_model().identity().at(kBaseHash);
    check_base(read_provenance(checkpoint), hash, checkpoint, options.model.path);
  });
}

void add_text_attributes(RunSummary& summary, const TextTotals& totals, const std::optional<QuestionScore>& questions) {
  summary.integers["samples"] = totals.samples;
  summary.integers["tokens"] = totals.tokens;
  summary.integers["trained_tokens"] = totals.targets;
  summary.reals = {{"loss", totals.loss}};
  for (const auto& [name, value] : totals.values)
    summary.reals[name] = value;
  if (!questions) return;
  summary.integers["questions"] = questions->num_questions;
  summary.reals["exact_match"] = questions->exact_match();
}

}  // namespace

EvaluationResult evaluate_language_model(const EvaluationSubject& subject, const RunOptions& options,
                                         const Communicator& world) {
  const RunContext context(options, world);
  const RunContext::Current current(context);
  std::unique_ptr<TensorCollectives> sharding;
  if (options.parallel.splits_weights(world.size()))
    sharding = make_collectives(options.parallel.backend, world, context.device().device, options.parallel.hierarchy);
  LanguageTask task(options, world, context.device().device, {sharding.get()});
  task.prepare_test_set(Weights::at_start);
  agreed(world, [&] {
    const at::NoGradGuard no_grad;
    if (!subject.weights.empty()) task.language_model().load_trained(TensorFile(subject.weights));
  });
  const TimePoint start = SteadyClock::now();
  const TextTotals totals = task.score_test_set();
  const double seconds = seconds_since(start);
  check_test_loss(totals.loss, "the " + subject.origin);
  check_base_of(subject, options, task, world);
  std::optional<QuestionScore> questions;
  const GenerationEvaluation* asked = task.data().questions;
  if (asked != nullptr && asked->has_questions()) questions = asked->score_questions();

  EvaluationResult result;
  result.summary = summary_of_evaluation(subject, options, world, context.device());
  add_text_attributes(result.summary, totals, questions);
  task.add_attributes(result.summary);
  result.scores = {{"loss", totals.loss}};
  result.scores.insert(result.scores.end(), totals.values.begin(), totals.values.end());
  result.scores.emplace_back("tokens", totals.tokens);
  result.scores.emplace_back("targets", totals.targets);
  result.scores.emplace_back(options.method.is_preference() ? "pairs" : "sequences", totals.samples);
  if (questions) result.scores.emplace_back("exact_match", questions->exact_match());
  result.lines.push_back(fmt::format("{:<10}{}, {} tokens, {} of them targets, {})", "test",
                                     task.describe(totals.evaluation()), grouped(totals.tokens),
                                     grouped(totals.targets), human_duration(seconds)));
  if (questions) result.lines.push_back(fmt::format("{:<10}exact match {}", "answers", questions->text()));
  return result;
}

}  // namespace multicard
