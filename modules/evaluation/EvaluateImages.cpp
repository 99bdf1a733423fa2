#include <algorithm>
#include <cmath>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "evaluation/ClassScores.hpp"
#include "evaluation/EvaluatedModel.hpp"
#include "state/TensorFile.hpp"
#include "tasks/images/ImageTask.hpp"
#include "tasks/setup/RunContext.hpp"

namespace multicard {

namespace {

std::string rate_cell(double rate) {
  return std::isnan(rate) ? "-" : fmt::format("{:.3f}", rate);
}

/// All classes, or those that are recognised worst.
std::vector<std::string> class_lines(const std::vector<ClassScore>& scores, const std::vector<std::string>& names,
                                     const std::string& results) {
  constexpr std::size_t kMostLines = 20;
  std::vector<std::string> lines;
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
    lines.push_back(fmt::format("{:<10}the {} of {} with the lowest recall; {} has all", "classes", kMostLines,
                                scores.size(), results));
  }
  std::size_t width = 5;
  for (const std::size_t i : order)
    width = std::max(width, names[i].size());
  lines.push_back(
      fmt::format("  {:<{}}  {:>9}  {:>9}  {:>6}  {:>5}", "class", width, "samples", "precision", "recall", "f1"));
  for (const std::size_t i : order)
    lines.push_back(fmt::format("  {:<{}}  {:>9}  {:>9}  {:>6}  {:>5}", names[i], width, grouped(scores[i].samples),
                                rate_cell(scores[i].precision()), rate_cell(scores[i].recall()),
                                rate_cell(scores[i].f1())));
  return lines;
}

/// Of the shards, and of outputs of the model that the shards have no images of.
std::vector<std::string> class_names(ImageTask& task) {
  std::vector<std::string> names = task.test_set()->info().class_names;
  for (auto label = static_cast<std::int64_t>(names.size()); label < task.classifier().num_classes(); ++label)
    names.push_back(fmt::format("class {}", label));
  return names;
}

}  // namespace

EvaluationResult evaluate_image_model(const EvaluationSubject& subject, const RunOptions& options,
                                      const std::string& results, const Communicator& world) {
  const RunContext context(options, world);
  const RunContext::Current current(context);
  ImageTask task(options, world, context.device().device);
  // Each rank reads the weights itself, from one mapped file: the ranks of a node share its pages.
  agreed(world, [&] {
    const at::NoGradGuard no_grad;
    copy_into(task.classifier().network().state(), TensorFile(subject.weights));
  });
  const TimePoint start = SteadyClock::now();
  const ImageScores scores = task.score_test_set(Detail::classes);
  const double seconds = seconds_since(start);
  const ImageTotals& totals = scores.totals;
  check_test_loss(totals.loss, subject.weights);
  const std::vector<std::string> names = class_names(task);
  const std::vector<ClassScore> classes = class_scores(scores.confusion, task.classifier().num_classes());

  EvaluationResult result;
  result.summary = summary_of_evaluation(subject, options, world, context.device());
  task.add_attributes(result.summary);
  result.summary.integers["samples"] = totals.samples;
  result.summary.reals.insert({{"loss", totals.loss}, {"accuracy", totals.accuracy}, {"top5", totals.top5}});
  result.summary.tables = {{"evaluation/classes", classes_table(classes, names)},
                           {"evaluation/confusion", confusion_table(scores.confusion)}};
  result.scores = {
      {"loss", totals.loss}, {"accuracy", totals.accuracy}, {"top5", totals.top5}, {"samples", totals.samples}};
  result.lines = class_lines(classes, names, results);
  result.lines.push_back(fmt::format("{:<10}accuracy {}, top-5 {}, loss {} ({} images, {})", "test",
                                     significant(totals.accuracy), significant(totals.top5), significant(totals.loss),
                                     grouped(totals.samples), human_duration(seconds)));
  return result;
}

}  // namespace multicard
