#include "scheduling/policy/AdaptiveSplit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "scheduling/policy/MeasurementSplit.hpp"

namespace multicard {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Places = std::vector<RanksOnNodes>;

/// How much better `value` is than `other`, as a share of it.
double improvement(Objective objective, double value, double other) {
  if (!std::isfinite(other)) return std::isfinite(value) ? 1 : 0;
  if (!std::isfinite(value)) return -1;
  if (is_maximised(objective)) return other > 0 ? value / other - 1 : (value > 0 ? 1 : 0);
  return other > 0 ? 1 - value / other : 0;
}

/// The tasks without rates that are not to be relied on.
std::vector<TaskView> proven_only(std::vector<TaskView> tasks) {
  for (TaskView& task : tasks) {
    std::vector<RateRow> rows = task.rates.rows();
    std::erase_if(rows, [&](const RateRow& row) { return task.unproven.contains({row.gpus, row.nodes}); });
    task.rates = RateTable(rows);
  }
  return tasks;
}

/// Which tasks `places` would measure; empty: none.
std::string explored(const std::vector<TaskView>& tasks, const Places& places) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].unproven.contains(places[i])) {
      const std::string nodes = places[i].nodes > 0 ? " of " + counted(places[i].nodes, "node") : "";
      parts.push_back(fmt::format("{} on {}{}", tasks[i].name, counted(places[i].ranks, "rank"), nodes));
    }
  return join(parts, ", ");
}

/// Ranks that are free go to known tasks that wait, in their order, as many as they are fastest on: it costs no other
/// task anything. \param places is changed \return whether it was
bool fill_waiting(const std::vector<TaskView>& tasks, int num_ranks, Places& places) {
  const Places before = places;
  int left = num_ranks;
  for (const RanksOnNodes& place : places)
    left -= place.ranks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (places[i].ranks > 0) continue;
    for (const RateRow& row : tasks[i].rates.rows())
      if (row.gpus <= left && row.rate > rate_on(tasks[i], places[i])) places[i] = row.gpus;
    left -= places[i].ranks;
  }
  return places != before;
}

int served(const Places& places) {
  return static_cast<int>(std::ranges::count_if(places, [](const RanksOnNodes& place) { return place.ranks > 0; }));
}

SplitDecision decision_of(const Places& places, double gain, double cost_s, std::string reason) {
  SplitDecision decision{{}, gain, cost_s, std::move(reason)};
  for (const RanksOnNodes& place : places) {
    decision.ranks.push_back(place.ranks);
    decision.nodes.push_back(place.nodes);
  }
  return decision;
}

Places open_places(const std::vector<int>& ranks) {
  return {ranks.begin(), ranks.end()};
}

/// Decides for tasks that are known, on the ranks that those being measured leave.
class KnownTasks {
 public:
  /// \param machine of these ranks
  /// \param present places of these tasks
  /// \param cost seconds of the moves to places of these tasks
  KnownTasks(const AdaptiveOptions& options, const std::vector<TaskView>& tasks, const Machine& machine, Places present,
             std::function<double(const Places&)> cost)
      : options_(options), tasks_(tasks), machine_(machine), present_(std::move(present)), cost_(std::move(cost)) {}

  SplitDecision decide() const;

 private:
  SplitDecision first_of_all(const std::optional<Places>& best) const;
  SplitDecision in_turn(const SplitDecision& keep) const;
  SplitDecision best_change(const Places& best) const;
  SplitDecision judged(const Places& places) const;
  double worst() const { return is_maximised(options_.objective) ? 0 : kInfinity; }

  const AdaptiveOptions& options_;
  const std::vector<TaskView>& tasks_;
  const Machine& machine_;
  Places present_;
  std::function<double(const Places&)> cost_;
};

/// Where none of them runs yet, whatever can run is better.
SplitDecision KnownTasks::first_of_all(const std::optional<Places>& best) const {
  if (best && served(*best) > 0) return decision_of(*best, 0, 0, "predicted to be the best");
  const std::vector<int> equal = equal_ranks(tasks_, machine_.gpus());
  if (number_served(equal) > 0) return decision_of(open_places(equal), 0, 0, "not all tasks can run at once");
  return decision_of(open_places(first_alone(tasks_, machine_.gpus())), 0, 0, "nothing else can run");
}

/// Where no split serves all tasks, so that fairness does not distinguish them: in their order, as ranks become free.
SplitDecision KnownTasks::in_turn(const SplitDecision& keep) const {
  const Places equal = open_places(equal_ranks(tasks_, machine_.gpus()));
  if (served(equal) <= number_served(keep.ranks)) return keep;
  return decision_of(equal, 0, cost_(equal), "not all tasks can run at once");
}

/// A change with its gain over keeping the present split.
SplitDecision KnownTasks::judged(const Places& places) const {
  const double kept = value_of_keeping(options_, tasks_, present_, machine_).value_or(worst());
  double changed = value_of_keeping(options_, tasks_, places, machine_).value_or(worst());
  const std::string exploration = explored(tasks_, places);
  // A trial that disappoints costs the way back, too.
  const double cost = cost_(places) * (exploration.empty() ? 1 : 2);
  // Moves delay all ends. Rates lose the moves' share of the time until the next end, when ranks are divided again.
  if (is_about_time(options_.objective))
    changed += cost;
  else if (const double horizon = first_end(tasks_, places); std::isfinite(horizon))
    changed *= horizon / (horizon + cost);
  const double gain = improvement(options_.objective, changed, kept);
  const std::string trial = exploration.empty() ? std::string() : fmt::format("trying {}: ", exploration);
  return decision_of(places, gain, cost, fmt::format("{}predicted gain {:.1f} %", trial, 100 * gain));
}

/// The best split, or the best one without exploration where that gains more.
SplitDecision KnownTasks::best_change(const Places& best) const {
  SplitDecision change = judged(best);
  if (explored(tasks_, best).empty()) return change;
  const std::optional<Places> proven = best_places(options_, proven_only(tasks_), machine_);
  if (proven && *proven != present_)
    if (SplitDecision other = judged(*proven); other.gain > change.gain) return other;
  return change;
}

SplitDecision KnownTasks::decide() const {
  SplitDecision keep = decision_of(present_, 0, 0, "no other split is better");
  const std::optional<Places> best = best_places(options_, tasks_, machine_);
  if (served(present_) == 0) return first_of_all(best);
  if (Places fill = present_; fill_waiting(tasks_, machine_.gpus(), fill))
    keep = decision_of(fill, 0, cost_(fill), "ranks are free");
  if (!best || *best == present_) return keep;
  if (is_maximised(options_.objective) && value_of_keeping(options_, tasks_, *best, machine_).value_or(0) <= 0)
    return in_turn(keep);
  SplitDecision change = best_change(*best);
  // Predictions err by some percent: without a threshold, tasks would move between splits that are equally good.
  if (change.gain >= options_.min_gain) return change;
  if (keep.is_change(tasks_)) return keep;
  keep.gain = change.gain;
  keep.cost_s = change.cost_s;
  keep.reason = fmt::format("another split gains less than the required {:.3g} %", 100 * options_.min_gain);
  return keep;
}

/// What tasks of which nothing is known leave of the job's ranks.
Machine machine_left(const std::vector<TaskView>& tasks, const Layout& layout) {
  std::vector<int> left;
  left.reserve(static_cast<std::size_t>(layout.machine.nodes));
  for (int node = 0; node < layout.machine.nodes; ++node)
    left.push_back(layout.machine.gpus_of(node));
  int sum = layout.num_gpus;
  for (const TaskView& task : tasks) {
    if (!task.is_unknown()) continue;
    sum -= task.ranks();
    for (const NodeShare& share : task.placement)
      left[static_cast<std::size_t>(share.node)] -= share.gpus;
  }
  if (!layout.has_several_nodes()) return {1, sum};
  return {layout.machine.nodes, std::ranges::max(left), layout.machine.memory_gb, left};
}

/// Of the tasks that are known, while the others keep their places.
SplitDecision decide_known(const AdaptiveOptions& options, const std::vector<TaskView>& tasks, const Layout& layout,
                           SplitDecision decision) {
  std::vector<TaskView> known;
  std::vector<std::size_t> index;
  const Places present = present_places(tasks, layout);
  Places present_of_known;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].is_unknown()) {
      if (decision.reason.empty() && tasks[i].ranks() > 0)
        decision.reason = fmt::format("{} is being measured", tasks[i].name);
    } else {
      known.push_back(tasks[i]);
      index.push_back(i);
      present_of_known.push_back(present[i]);
    }
  }
  const Machine machine = machine_left(tasks, layout);
  if (known.empty() || machine.gpus() < 1) return decision;
  const auto with = [&](const Places& places) {
    Places all = present;
    for (std::size_t k = 0; k < index.size(); ++k)
      all[index[k]] = places[k];
    return all;
  };
  const auto cost = [&](const Places& places) { return cost_of_moves(tasks, with(places), layout); };
  const SplitDecision of_known = KnownTasks(options, known, machine, present_of_known, cost).decide();
  if (!of_known.is_change(known) && !decision.reason.empty()) return decision;
  return decision_of(with(of_known.places()), of_known.gain, of_known.cost_s, of_known.reason);
}

}  // namespace

std::vector<RanksOnNodes> SplitDecision::places() const {
  Places all(ranks.begin(), ranks.end());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    all[i].nodes = nodes[i];
  return all;
}

bool SplitDecision::is_change(const std::vector<TaskView>& tasks) const {
  if (ranks != present_ranks(tasks)) return true;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i] > 0 && nodes[i] != tasks[i].nodes()) return true;
  return false;
}

SplitDecision decide_adaptively(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                const Layout& layout) {
  // First, as nothing can be predicted of splits with a task that has no rate at all.
  SplitDecision decision = decide_measurement(tasks, layout);
  if (!decision.is_change(tasks)) return decide_known(options, tasks, layout, std::move(decision));
  Places places = decision.places();
  fill_waiting(tasks, layout.num_gpus, places);
  return decision_of(places, decision.gain, cost_of_moves(tasks, places, layout), std::move(decision.reason));
}

}  // namespace multicard
