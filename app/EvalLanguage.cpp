#include "EvalLanguage.hpp"

#include <filesystem>
#include <optional>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "EvalFile.hpp"
#include "Runs.hpp"
#include "base/Clock.hpp"
#include "base/JsonText.hpp"
#include "base/Log.hpp"
#include "base/StandardOutput.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "state/TensorFile.hpp"
#include "tasks/LanguageTask.hpp"
#include "tasks/ProvenanceMetadata.hpp"
#include "tasks/RankSetup.hpp"

namespace multicard {

namespace {

RunSummary summarise(const LanguageSubject& subject, const LanguageTask& task, const Communicator& world,
                     const DeviceChoice& device, const TextTotals& totals,
                     const std::optional<QuestionScore>& questions) {
  RunSummary summary;
  summary.name = "main";
  summary.text = {{"task", std::string(word_of(subject.options.task, kTaskWords))},
                  {"precision", std::string(word_of(subject.options.precision, kPrecisionWords))},
                  {"device", device.description},
                  {"weights", subject.weights.empty() ? subject.options.model.path : subject.weights},
                  {"weights_origin", subject.origin},
                  {"deck", with_defaults(subject.deck).to_yaml()}};
  summary.integers = {{"ranks", world.size()},
                      {"global_batch", subject.options.run.batch_over(world.size())},
                      {"samples", totals.samples},
                      {"tokens", totals.tokens},
                      {"trained_tokens", totals.targets}};
  summary.reals = {{"loss", totals.loss}};
  for (const auto& [name, value] : totals.values)
    summary.reals[name] = value;
  if (questions) {
    summary.integers["questions"] = questions->num_questions;
    summary.reals["exact_match"] = questions->exact_match();
  }
  task.add_attributes(summary);
  return summary;
}

}  // namespace

ExitCode eval_language(const EvalArguments& arguments, const LanguageSubject& subject, const std::string& results,
                       const Communicator& world) {
  const Topology topology = find_topology(world);
  const ComputeSettings settings(subject.options, world, topology);
  const DeviceChoice device = set_up_device(subject.options, world, topology);
  LanguageTask task(subject.options, world, device.device);
  task.prepare_test_set(Weights::at_start);
  agreed(world, [&] {
    const at::NoGradGuard no_grad;
    if (!subject.weights.empty()) copy_into(task.language_model().trained(), TensorFile(subject.weights));
  });
  const TimePoint start = SteadyClock::now();
  const TextTotals totals = task.score_test_set();
  const double seconds = seconds_since(start);
  check_test_loss(totals.loss, "the " + subject.origin);
  // After the scores: the base model was hashed in the background meanwhile; before anything is written.
  agreed(world, [&] {
    if (!world.is_root() || subject.weights.empty() || !task.language_model().has_adapters()) return;
    const std::string checkpoint = std::filesystem::path(subject.weights).parent_path().string();
    const std::string hash = task.language_model().identity().at(kBaseHash);
    check_base(read_provenance(checkpoint), hash, checkpoint, subject.options.model.path);
  });
  std::optional<QuestionScore> questions;
  const GenerationEvaluation* asked = task.data().questions;
  if (asked != nullptr && asked->has_questions()) questions = asked->score_questions();
  write_evaluation(results, arguments, summarise(subject, task, world, device, totals, questions), world);
  log_info(fmt::format("{:<10}{}, {} tokens, {} of them targets, {})", "test", task.describe(totals.evaluation()),
                       grouped(totals.tokens), grouped(totals.targets), human_duration(seconds)));
  if (questions) log_info(fmt::format("{:<10}exact match {}", "answers", questions->text()));
  log_results(results);
  nlohmann::ordered_json scores{{"loss", totals.loss}};
  for (const auto& [name, value] : totals.values)
    scores[name] = value;
  scores["tokens"] = totals.tokens;
  scores["targets"] = totals.targets;
  scores[subject.options.method.is_preference() ? "pairs" : "sequences"] = totals.samples;
  if (questions) scores["exact_match"] = questions->exact_match();
  if (arguments.json && world.is_root()) print(json_text(scores) + "\n");
  return ExitCode::complete;
}

}  // namespace multicard
