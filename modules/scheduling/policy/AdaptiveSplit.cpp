#include "scheduling/policy/AdaptiveSplit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "scheduling/policy/MeasurementSplit.hpp"

namespace multicard {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

AllocationProblem problem_of(Objective objective, const std::vector<TaskView>& tasks, int num_ranks) {
  AllocationProblem problem;
  problem.objective = objective;
  // Learnt rates are by number of ranks alone (TaskRates::point() places them), so that one node is enough.
  problem.machine = {1, num_ranks};
  for (const TaskView& task : tasks)
    problem.tasks.push_back({task.name, task.rates, task.steps_left, task.weight});
  return problem;
}

std::optional<Allocation> allocate_soon(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                        int num_ranks) {
  SearchBudget budget(options.most_operations, options.most_seconds);
  return allocate(problem_of(options.objective, tasks, num_ranks), ScheduleKind::any, budget);
}

/// The ranks with which the best schedule begins.
std::optional<std::vector<int>> best_ranks(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                           int num_ranks) {
  const std::optional<Allocation> best = allocate_soon(options, tasks, num_ranks);
  if (!best) return std::nullopt;
  std::vector<int> ranks(tasks.size());
  // Only the beginning counts: when it ends, more has been measured and the rest is decided again.
  for (const ScheduleEntry& entry : best->schedule)
    if (entry.start_s == 0) ranks[entry.task] = entry.gpus;
  return ranks;
}

std::optional<double> best_value(const AdaptiveOptions& options, const std::vector<TaskView>& tasks, int num_ranks) {
  if (tasks.empty()) return 0;
  const std::optional<Allocation> best = allocate_soon(options, tasks, num_ranks);
  return best ? std::optional(best->value) : std::nullopt;
}

double total_weight(const std::vector<TaskView>& tasks) {
  return std::accumulate(tasks.begin(), tasks.end(), 0.0,
                         [](double sum, const TaskView& task) { return sum + task.weight; });
}

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
    std::erase_if(rows, [&](const RateRow& row) { return task.unproven.contains(row.gpus); });
    task.rates = RateTable(rows);
  }
  return tasks;
}

/// Which tasks `ranks` would measure; empty: none.
std::string explored(const std::vector<TaskView>& tasks, const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].unproven.contains(ranks[i]))
      parts.push_back(fmt::format("{} on {}", tasks[i].name, counted(ranks[i], "rank")));
  return join(parts, ", ");
}

/// Ranks that are free go to known tasks that wait, in their order, as many as they are fastest on: it costs no other
/// task anything. \param ranks is changed \return whether it was
bool fill_waiting(const std::vector<TaskView>& tasks, int num_ranks, std::vector<int>& ranks) {
  const std::vector<int> before = ranks;
  int left = num_ranks - sum_of(ranks);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (ranks[i] > 0) continue;
    for (const RateRow& row : tasks[i].rates.rows())
      if (row.gpus <= left && row.rate > rate_on(tasks[i], ranks[i])) ranks[i] = row.gpus;
    left -= ranks[i];
  }
  return ranks != before;
}

/// Decides for tasks that are known, on the ranks that those being measured leave.
class KnownTasks {
 public:
  /// \param cost seconds of the moves to a split of these tasks
  KnownTasks(const AdaptiveOptions& options, const std::vector<TaskView>& tasks, int num_ranks,
             std::function<double(const std::vector<int>&)> cost)
      : options_(options), tasks_(tasks), num_ranks_(num_ranks), cost_(std::move(cost)) {}

  SplitDecision decide() const;

 private:
  SplitDecision first_of_all(const std::optional<std::vector<int>>& best) const;
  SplitDecision in_turn(const SplitDecision& keep) const;
  SplitDecision best_change(const std::vector<int>& best) const;
  SplitDecision judged(const std::vector<int>& ranks) const;
  double worst() const { return is_maximised(options_.objective) ? 0 : kInfinity; }

  const AdaptiveOptions& options_;
  const std::vector<TaskView>& tasks_;
  int num_ranks_;
  std::function<double(const std::vector<int>&)> cost_;
};

/// Where none of them runs yet, whatever can run is better.
SplitDecision KnownTasks::first_of_all(const std::optional<std::vector<int>>& best) const {
  if (best && number_served(*best) > 0) return {*best, 0, 0, "predicted to be the best"};
  const std::vector<int> equal = equal_ranks(tasks_, num_ranks_);
  if (number_served(equal) > 0) return {equal, 0, 0, "not all tasks can run at once"};
  return {first_alone(tasks_, num_ranks_), 0, 0, "nothing else can run"};
}

/// Where no split serves all tasks, so that fairness does not distinguish them: in their order, as ranks become free.
SplitDecision KnownTasks::in_turn(const SplitDecision& keep) const {
  const std::vector<int> equal = equal_ranks(tasks_, num_ranks_);
  if (number_served(equal) <= number_served(keep.ranks)) return keep;
  return {equal, 0, cost_(equal), "not all tasks can run at once"};
}

/// A change with its gain over keeping the present split.
SplitDecision KnownTasks::judged(const std::vector<int>& ranks) const {
  const double kept = value_of_keeping(options_, tasks_, present_ranks(tasks_), num_ranks_).value_or(worst());
  double changed = value_of_keeping(options_, tasks_, ranks, num_ranks_).value_or(worst());
  const std::string exploration = explored(tasks_, ranks);
  // A trial that disappoints costs the way back, too.
  const double cost = cost_(ranks) * (exploration.empty() ? 1 : 2);
  // Moves delay all ends. Rates lose the moves' share of the time until the next end, when ranks are divided again.
  if (is_about_time(options_.objective))
    changed += cost;
  else if (const double horizon = first_end(tasks_, ranks); std::isfinite(horizon))
    changed *= horizon / (horizon + cost);
  const double gain = improvement(options_.objective, changed, kept);
  if (exploration.empty()) return {ranks, gain, cost, fmt::format("predicted better by {:.1f} %", 100 * gain)};
  return {ranks, gain, cost, fmt::format("worth measuring {}: predicted better by {:.1f} %", exploration, 100 * gain)};
}

/// The best split, or the best one without exploration where that gains more.
SplitDecision KnownTasks::best_change(const std::vector<int>& best) const {
  SplitDecision change = judged(best);
  if (explored(tasks_, best).empty()) return change;
  const std::optional<std::vector<int>> proven = best_ranks(options_, proven_only(tasks_), num_ranks_);
  if (proven && *proven != present_ranks(tasks_))
    if (SplitDecision other = judged(*proven); other.gain > change.gain) return other;
  return change;
}

SplitDecision KnownTasks::decide() const {
  SplitDecision keep{present_ranks(tasks_), 0, 0, "no other split is better"};
  const std::optional<std::vector<int>> best = best_ranks(options_, tasks_, num_ranks_);
  if (number_served(keep.ranks) == 0) return first_of_all(best);
  if (std::vector<int> fill = keep.ranks; fill_waiting(tasks_, num_ranks_, fill))
    keep = {fill, 0, cost_(fill), "ranks are free"};
  if (!best || *best == present_ranks(tasks_)) return keep;
  if (is_maximised(options_.objective) && value_of_keeping(options_, tasks_, *best, num_ranks_).value_or(0) <= 0)
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

}  // namespace

SplitDecision decide_adaptively(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                const Layout& layout) {
  // First, as nothing can be predicted of splits with a task that has no rate at all.
  SplitDecision decision = decide_measurement(tasks, layout);
  if (decision.is_change(tasks)) {
    fill_waiting(tasks, layout.num_gpus, decision.ranks);
    decision.cost_s = cost_of_moves(tasks, decision.ranks, layout);
    return decision;
  }
  std::vector<TaskView> known;
  std::vector<std::size_t> index;
  int left = layout.num_gpus;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].is_unknown()) {
      left -= tasks[i].ranks();
      if (decision.reason.empty() && tasks[i].ranks() > 0)
        decision.reason = fmt::format("{} is being measured", tasks[i].name);
    } else {
      known.push_back(tasks[i]);
      index.push_back(i);
    }
  }
  if (known.empty() || left < 1) return decision;
  const auto with = [&](const std::vector<int>& ranks) {
    std::vector<int> all = present_ranks(tasks);
    for (std::size_t k = 0; k < index.size(); ++k)
      all[index[k]] = ranks[k];
    return all;
  };
  const auto cost = [&](const std::vector<int>& ranks) { return cost_of_moves(tasks, with(ranks), layout); };
  const SplitDecision of_known = KnownTasks(options, known, left, cost).decide();
  if (!of_known.is_change(known) && !decision.reason.empty()) return decision;
  return {with(of_known.ranks), of_known.gain, of_known.cost_s, of_known.reason};
}

std::optional<double> value_of_keeping(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                       const std::vector<int>& ranks, int num_ranks) {
  if (!is_about_time(options.objective)) {
    Split split;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      split.push_back({ranks[i], 0, rate_on(tasks[i], ranks[i])});
    return value_of(problem_of(options.objective, tasks, num_ranks), split);
  }
  // No split is kept to the end: it lasts until its first task ends, and the best for what is left follows. In an
  // average completion the tasks that are left count with their share of the weights, and all wait for this first part.
  const double end_s = first_end(tasks, ranks);
  if (!std::isfinite(end_s)) return std::nullopt;
  std::vector<TaskView> rest;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    TaskView task = tasks[i];
    task.steps_left -= end_s * rate_on(task, ranks[i]);
    // The task that ends here has nothing left but what rounding leaves.
    if (task.steps_left > 1e-9 * tasks[i].steps_left) rest.push_back(task);
  }
  const std::optional<double> then = best_value(options, rest, num_ranks);
  if (!then) return std::nullopt;
  if (options.objective == Objective::makespan) return end_s + *then;
  return end_s + *then * total_weight(rest) / total_weight(tasks);
}

std::optional<Allocation> expected_values(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                          int num_ranks) {
  if (tasks.empty() || std::any_of(tasks.begin(), tasks.end(), [](const TaskView& task) { return task.is_unknown(); }))
    return std::nullopt;
  return allocate_soon(options, tasks, num_ranks);
}

}  // namespace multicard
