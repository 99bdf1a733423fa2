#include "scheduling/model/TaskRates.hpp"

#include <algorithm>
#include <memory>

#include "scheduling/model/StepTimeModel.hpp"

namespace multicard {

namespace {

constexpr int kFarthest = 2;  ///< factor between a measured number of ranks and one to explore

OnlineOptions options_with(const std::vector<std::optional<double>>& links) {
  OnlineOptions options;
  options.prediction.fit.known = links;
  options.steps_per_point = TaskRates::kRemembered;
  return options;
}

}  // namespace

TaskRates::TaskRates(double global_batch, int ranks_per_node, const std::vector<std::optional<double>>& links)
    : global_batch_(global_batch),
      ranks_per_node_(ranks_per_node),
      model_(std::make_shared<StepTimeModel>(), options_with(links)) {}

void TaskRates::add(int ranks, std::span<const double> step_s) {
  if (step_s.empty()) return;
  const StepPoint here = point(ranks);
  const bool is_new = !model_.measured(here);
  for (const double seconds : step_s)
    model_.add({here, seconds});
  // A fit is repeated on many resamples of the steps: too much work for each report.
  if (is_new || model_.is_due()) model_.refit();
}

LearntRates TaskRates::on(const std::vector<int>& candidates) const {
  LearntRates learnt;
  if (!model_.model()) return learnt;
  std::vector<int> measured;
  for (const int ranks : has_run_on_)
    if (model_.measured(point(ranks))) measured.push_back(ranks);
  if (measured.empty()) return learnt;
  std::vector<RateRow> rows;
  for (const int ranks : candidates) {
    // What was measured counts as it is; the model only fills the gaps.
    if (const std::optional<double> known = model_.measured(point(ranks))) {
      rows.push_back({ranks, 0, 1 / *known, 0});
      continue;
    }
    const Prediction predicted = model_.model()->predict(point(ranks));
    const bool is_far = ranks > kFarthest * measured.back() || ranks * kFarthest < measured.front();
    // Explored step by step: what is too far off to be predicted is offered once something nearer has been measured.
    if (predicted.trust == Trust::refused && is_far) continue;
    // One measured number cannot separate what scales from what does not.
    if (predicted.trust == Trust::refused || measured.size() == 1) learnt.unproven.insert(ranks);
    rows.push_back({ranks, 0, 1 / predicted.seconds, 0});
  }
  learnt.rates = RateTable(rows);
  return learnt;
}

StepPoint TaskRates::point(int ranks) const {
  StepPoint at;
  at.gpus = ranks;
  // As if its range began with a node. One that begins elsewhere may reach into one node more, which is neglected:
  // rates would else depend on places, and decisions only count ranks.
  at.nodes = (ranks + ranks_per_node_ - 1) / ranks_per_node_;
  at.max_per_node = std::min(ranks, ranks_per_node_);
  at.volume = volume_;
  at.rows_per_gpu = global_batch_ / ranks;
  return at;
}

}  // namespace multicard
