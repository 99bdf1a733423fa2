#include <algorithm>
#include <cmath>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "Commands.hpp"
#include "EvalFile.hpp"
#include "EvalLanguage.hpp"
#include "EvalSubject.hpp"
#include "Runs.hpp"
#include "base/Clock.hpp"
#include "base/JsonText.hpp"
#include "base/Log.hpp"
#include "base/StandardOutput.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "state/TensorFile.hpp"
#include "tasks/ImageTask.hpp"
#include "tasks/RankSetup.hpp"

namespace multicard {

namespace {

std::string rate_cell(double rate) {
  return std::isnan(rate) ? "-" : fmt::format("{:.3f}", rate);
}

/// All classes, or those that are recognised worst.
void log_classes(const std::vector<ClassScore>& scores, const std::vector<std::string>& names,
                 const std::string& results) {
  constexpr std::size_t kMostLines = 20;
  std::vector<std::size_t> order(scores.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  if (scores.size() > kMostLines) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      // NaN is a class without samples, which comes last.
      const double x = scores[a].recall(), y = scores[b].recall();
      return !std::isnan(x) && (std::isnan(y) || x < y);
    });
    order.resize(kMostLines);
    log_info(fmt::format("{:<10}the {} of {} with the lowest recall; {} has all", "classes", kMostLines, scores.size(),
                         results));
  }
  std::size_t width = 5;
  for (const std::size_t i : order)
    width = std::max(width, names[i].size());
  log_info(fmt::format("  {:<{}}  {:>9}  {:>9}  {:>6}  {:>5}", "class", width, "samples", "precision", "recall", "f1"));
  for (const std::size_t i : order)
    log_info(fmt::format("  {:<{}}  {:>9}  {:>9}  {:>6}  {:>5}", names[i], width, grouped(scores[i].samples),
                         rate_cell(scores[i].precision()), rate_cell(scores[i].recall()), rate_cell(scores[i].f1())));
}

/// The record of an evaluation (docs/evaluate.md).
RunSummary summarise(const RunOptions& options, const EvalSubject& subject, const Communicator& world,
                     const DeviceChoice& device, const ImageScores& scores) {
  RunSummary summary;
  summary.name = "main";
  summary.text = {{"task", std::string(word_of(options.task, kTaskWords))},
                  {"model", options.model.name},
                  {"precision", std::string(word_of(options.precision, kPrecisionWords))},
                  {"layout", std::string(word_of(options.data.layout, kLayoutWords))},
                  {"pipeline", std::string(word_of(options.data.pipeline, kPipelineWords))},
                  {"device", device.description},
                  {"weights", subject.weights},
                  {"weights_origin", subject.origin},
                  {"deck", with_defaults(subject.deck).to_yaml()}};
  summary.integers = {{"ranks", world.size()},
                      {"global_batch", options.run.batch_over(world.size())},
                      {"image_size", options.data.image_size},
                      {"samples", scores.totals.samples}};
  summary.reals = {{"width", options.model.width},
                   {"loss", scores.totals.loss},
                   {"accuracy", scores.totals.accuracy},
                   {"top5", scores.totals.top5}};
  return summary;
}

}  // namespace

ExitCode eval_command(const EvalArguments& arguments, const Communicator& world) {
  // Whatever can be refused is refused before the first shard is read: the file for the scores, for example.
  const EvalSubject subject = find_eval_subject(arguments, world);
  const RunOptions options = agreed(world, [&] { return evaluation_options(subject); });
  const std::string results = evaluation_file(arguments, options);
  require_evaluation(results, world);
  log_heading("eval", arguments.source);
  log_info(fmt::format("{:<10}{} ({})", "weights", subject.weights.empty() ? options.model.path : subject.weights,
                       subject.origin));
  if (options.is_language())
    return eval_language(arguments, {options, subject.deck, subject.weights, subject.origin}, results, world);
  const Topology topology = find_topology(world);
  const ComputeSettings settings(options, world, topology);
  const DeviceChoice device = set_up_device(options, world, topology);
  ImageTask task(options, world, device.device, nullptr);
  // Each rank reads the weights itself, from one mapped file: the ranks of a node share its pages.
  agreed(world, [&] {
    const at::NoGradGuard no_grad;
    copy_into(task.classifier().network().state(), TensorFile(subject.weights));
  });

  const TimePoint start = SteadyClock::now();
  const ImageScores scores = task.score_test_set(Detail::classes);
  const double seconds = seconds_since(start);
  check_test_loss(scores.totals.loss, subject.weights);
  std::vector<std::string> names = task.test_set()->info().class_names;
  for (auto label = static_cast<std::int64_t>(names.size()); label < task.classifier().num_classes(); ++label)
    names.push_back(fmt::format("class {}", label));  // outputs of the model that the shards have no images of
  const std::vector<ClassScore> classes = class_scores(scores.confusion, task.classifier().num_classes());
  RunSummary summary = summarise(options, subject, world, device, scores);
  summary.tables = {{"evaluation/classes", classes_table(classes, names)},
                    {"evaluation/confusion", confusion_table(scores.confusion)}};
  write_evaluation(results, arguments, summary, world);

  const ImageTotals& totals = scores.totals;
  log_classes(classes, names, results);
  log_info(fmt::format("{:<10}accuracy {}, top-5 {}, loss {} ({} images, {})", "test", significant(totals.accuracy),
                       significant(totals.top5), significant(totals.loss), grouped(totals.samples),
                       human_duration(seconds)));
  log_results(results);
  if (arguments.json && world.is_root())
    print(
        json_text(nlohmann::ordered_json{
            {"loss", totals.loss}, {"accuracy", totals.accuracy}, {"top5", totals.top5}, {"samples", totals.samples}}) +
        "\n");
  return ExitCode::complete;
}

}  // namespace multicard
