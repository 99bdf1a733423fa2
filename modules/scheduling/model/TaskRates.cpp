#include "scheduling/model/TaskRates.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

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

int ranks_of(const NodeCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0);
}

}  // namespace

TaskRates::TaskRates(double global_batch, Machine machine, const std::vector<std::optional<double>>& links)
    : global_batch_(global_batch),
      machine_(std::move(machine)),
      ranks_per_node_(machine_->gpus_per_node),
      model_(std::make_shared<StepTimeModel>(), options_with(links)) {}

TaskRates::TaskRates(double global_batch, int ranks_per_node, const std::vector<std::optional<double>>& links)
    : global_batch_(global_batch),
      ranks_per_node_(ranks_per_node),
      model_(std::make_shared<StepTimeModel>(), options_with(links)) {}

void TaskRates::run_on(const NodeCounts& counts) {
  has_run_on_.insert(ranks_of(counts));
  places_.insert(counts);
}

void TaskRates::add(const NodeCounts& counts, std::span<const double> step_s) {
  if (step_s.empty()) return;
  places_.insert(counts);
  const StepPoint here = point(counts);
  const bool is_new = !model_.measured(here);
  for (const double seconds : step_s)
    model_.add({here, seconds});
  // A fit is repeated on many resamples of the steps: too much work for each report.
  if (is_new || model_.is_due()) model_.refit();
}

LearntRates TaskRates::on(const std::vector<int>& candidates) const {
  LearntRates learnt;
  if (!model_.model()) return learnt;
  const std::vector<int> measured = measured_ranks();
  if (measured.empty()) return learnt;
  std::vector<RateRow> rows;
  for (const int ranks : candidates)
    for (const int nodes : nodes_for(ranks))
      add_row(ranks, nodes, measured, learnt, rows);
  learnt.rates = RateTable(rows);
  return learnt;
}

void TaskRates::add_row(int ranks, int nodes, const std::vector<int>& measured, LearntRates& learnt,
                        std::vector<RateRow>& rows) const {
  // What was measured counts as it is; the model only fills the gaps.
  if (const std::optional<double> known = measured_on(ranks, nodes)) {
    rows.push_back({ranks, nodes, 1 / *known, 0});
    return;
  }
  const NodeCounts counts = nodes == 0 ? packed(ranks) : even_counts(*machine_, ranks, nodes);
  const Prediction predicted = model_.model()->predict(point(counts));
  const bool is_far = ranks > kFarthest * measured.back() || ranks * kFarthest < measured.front();
  // Explored step by step: what is too far off to be predicted is offered once something nearer has been measured.
  if (predicted.trust == Trust::refused && is_far) return;
  // One measured number cannot separate what scales from what does not; on as many ranks only the links differ.
  const bool is_only = measured.size() == 1 && ranks != measured.front();
  if (predicted.trust == Trust::refused || is_only) learnt.unproven.emplace(ranks, nodes);
  rows.push_back({ranks, nodes, 1 / predicted.seconds, 0});
}

/// Rising numbers of ranks.
std::vector<int> TaskRates::measured_ranks() const {
  std::set<int> numbers;
  for (const NodeCounts& counts : places_)
    if (measured(counts)) numbers.insert(ranks_of(counts));
  return {numbers.begin(), numbers.end()};
}

/// The numbers of nodes that there are rows for; 0 where they do not matter.
std::set<int> TaskRates::nodes_for(int ranks) const {
  if (!machine_ || machine_->nodes == 1) return {0};
  const int fewest = machine_->fewest_nodes(ranks), most = std::min(ranks, machine_->nodes_in_use());
  std::set<int> numbers;
  for (const int nodes : {fewest, fewest + 1, most})
    if (nodes <= most) numbers.insert(nodes);
  for (const NodeCounts& counts : places_)
    if (ranks_of(counts) == ranks) numbers.insert(static_cast<int>(counts.size()));
  return numbers;
}

/// The fastest placement of these ranks on that many nodes.
std::optional<double> TaskRates::measured_on(int ranks, int nodes) const {
  if (nodes == 0) return measured(ranks);
  std::optional<double> best;
  for (const NodeCounts& counts : places_)
    if (static_cast<int>(counts.size()) == nodes && ranks_of(counts) == ranks)
      if (const std::optional<double> seconds = measured(counts); seconds && (!best || *seconds < *best))
        best = seconds;
  return best;
}

NodeCounts TaskRates::packed(int ranks) const {
  NodeCounts counts;
  if (machine_) counts = even_counts(*machine_, ranks, machine_->fewest_nodes(ranks));
  if (!counts.empty()) return counts;  // else more than the machine has, as an earlier launch may have had
  for (int left = ranks; left > 0; left -= counts.back())
    counts.push_back(std::min(left, ranks_per_node_));
  return counts;
}

StepPoint TaskRates::point(const NodeCounts& counts) const {
  StepPoint at;
  at.gpus = ranks_of(counts);
  at.nodes = static_cast<int>(counts.size());
  at.max_per_node = counts.empty() ? 0 : counts.front();
  at.volume = volume_;
  at.rows_per_gpu = global_batch_ / at.gpus;
  return at;
}

}  // namespace multicard
