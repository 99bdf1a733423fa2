#include "share/SharePolicy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "scaling/Allocation.hpp"
#include "share/RankLayout.hpp"

namespace multicard {

namespace {

/// As many as each asks for, in order, while they last; what is below a task's least is not given.
std::vector<int> given_in_order(const std::vector<TaskView>& tasks, const std::vector<int>& wanted, int num_ranks) {
  std::vector<int> ranks(tasks.size());
  int left = num_ranks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const int most = std::min({wanted[i], tasks[i].max_ranks, left});
    if (most >= tasks[i].min_ranks) ranks[i] = most;
    left -= ranks[i];
  }
  return ranks;
}

/// The equal share of each, but as many as it needs at least.
std::vector<int> equal_ranks(const std::vector<TaskView>& tasks, int num_ranks) {
  const int number = std::min(static_cast<int>(tasks.size()), num_ranks);
  std::vector<int> wanted(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const int share = num_ranks / number + (static_cast<int>(i) < num_ranks % number ? 1 : 0);
    wanted[i] = std::max(share, tasks[i].min_ranks);
  }
  return given_in_order(tasks, wanted, num_ranks);
}

/// The equal share of each while ranks last, tasks of which nothing is known first.
std::vector<int> ranks_to_measure(const std::vector<TaskView>& tasks, int num_ranks) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return tasks[i].rates.rows().empty(); });
  std::vector<TaskView> sorted;
  sorted.reserve(tasks.size());
  for (const std::size_t i : order)
    sorted.push_back(tasks[i]);
  const std::vector<int> given = equal_ranks(sorted, num_ranks);
  std::vector<int> ranks(tasks.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    ranks[order[k]] = given[k];
  return ranks;
}

std::vector<int> first_alone(const std::vector<TaskView>& tasks, int num_ranks) {
  std::vector<int> wanted(tasks.size());
  wanted.front() = num_ranks;
  return given_in_order(tasks, wanted, num_ranks);
}

AllocationProblem problem_of(Objective objective, const std::vector<TaskView>& tasks, int num_ranks) {
  AllocationProblem problem;
  problem.objective = objective;
  problem.machine = {1, num_ranks};
  for (const TaskView& task : tasks)
    problem.tasks.push_back({task.name, task.rates, task.steps_left, task.weight});
  return problem;
}

/// The ranks with which the best schedule begins.
std::optional<std::vector<int>> best_ranks(Objective objective, const std::vector<TaskView>& tasks, int num_ranks) {
  const std::optional<Allocation> best = allocate(problem_of(objective, tasks, num_ranks), ScheduleKind::any);
  if (!best) return std::nullopt;
  std::vector<int> ranks(tasks.size());
  for (const ScheduleEntry& entry : best->schedule)
    if (entry.start_s == 0) ranks[entry.task] = entry.gpus;
  return ranks;
}

std::optional<double> best_value(Objective objective, const std::vector<TaskView>& tasks, int num_ranks) {
  if (tasks.empty()) return 0;
  const std::optional<Allocation> best = allocate(problem_of(objective, tasks, num_ranks), ScheduleKind::any);
  return best ? std::optional(best->value) : std::nullopt;
}

double total_weight(const std::vector<TaskView>& tasks) {
  return std::accumulate(tasks.begin(), tasks.end(), 0.0,
                         [](double sum, const TaskView& task) { return sum + task.weight; });
}

/// How much better `value` is than `other`, as a share of it.
double improvement(Objective objective, double value, double other) {
  if (!std::isfinite(other)) return std::isfinite(value) ? 1 : 0;
  if (is_maximised(objective)) return other > 0 ? value / other - 1 : (value > 0 ? 1 : 0);
  return other > 0 ? 1 - value / other : 0;
}

/// All ranks wait for every move; tasks that keep their number of ranks may have to make room.
double cost_of_moves(const std::vector<TaskView>& tasks, const std::vector<int>& ranks, int num_ranks) {
  std::vector<RankRange> before;
  before.reserve(tasks.size());
  for (const TaskView& task : tasks)
    before.push_back({task.first_rank, task.ranks});
  const std::vector<RankRange> after = lay_out(ranks, before, num_ranks);
  double cost = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (after[i].count > 0 ? after[i] != before[i] : before[i].count > 0) cost += tasks[i].move_s;
  return cost;
}

std::vector<int> present(const std::vector<TaskView>& tasks) {
  std::vector<int> ranks;
  ranks.reserve(tasks.size());
  for (const TaskView& task : tasks)
    ranks.push_back(task.ranks);
  return ranks;
}

int number_served(const std::vector<int>& ranks) {
  return static_cast<int>(std::count_if(ranks.begin(), ranks.end(), [](int count) { return count > 0; }));
}

/// Where nothing runs yet, whatever can run is better.
ShareDecision first_of_all(const std::vector<TaskView>& tasks, const std::optional<std::vector<int>>& best,
                           int num_ranks) {
  if (best && number_served(*best) > 0) return {*best, 0, 0, "predicted to be the best"};
  const std::vector<int> equal = equal_ranks(tasks, num_ranks);
  if (number_served(equal) > 0) return {equal, 0, 0, "not all tasks can run at once"};
  return {first_alone(tasks, num_ranks), 0, 0, "nothing else can run"};
}

/// Where no split serves all tasks, so that fairness tells no two of them apart: in their order, as ranks become free.
ShareDecision in_turn(const std::vector<TaskView>& tasks, const ShareDecision& keep, int num_ranks) {
  const std::vector<int> equal = equal_ranks(tasks, num_ranks);
  if (number_served(equal) <= number_served(keep.ranks)) return keep;
  return {equal, 0, cost_of_moves(tasks, equal, num_ranks), "not all tasks can run at once"};
}

ShareDecision decide_adaptively(const SharePolicyOptions& policy, Objective objective,
                                const std::vector<TaskView>& tasks, int num_ranks) {
  ShareDecision keep{present(tasks), 0, 0, "the present split stays"};
  const auto is_unknown = [](const TaskView& task) { return task.rates.rows().empty(); };
  if (const auto unknown = std::find_if(tasks.begin(), tasks.end(), is_unknown); unknown != tasks.end()) {
    if (unknown->ranks > 0) return keep;
    const std::vector<int> ranks = ranks_to_measure(tasks, num_ranks);
    return {ranks, 0, cost_of_moves(tasks, ranks, num_ranks), fmt::format("{} is to be measured", unknown->name)};
  }
  const std::optional<std::vector<int>> best = best_ranks(objective, tasks, num_ranks);
  if (number_served(keep.ranks) == 0) return first_of_all(tasks, best, num_ranks);
  if (!best || *best == keep.ranks) return keep;
  const double infinity = is_maximised(objective) ? 0 : std::numeric_limits<double>::infinity();
  const double kept = value_of_keeping(objective, tasks, keep.ranks, num_ranks).value_or(infinity);
  const double changed = value_of_keeping(objective, tasks, *best, num_ranks).value_or(infinity);
  if (is_maximised(objective) && changed <= 0) return in_turn(tasks, keep, num_ranks);
  const double cost = cost_of_moves(tasks, *best, num_ranks);
  const double gain = improvement(objective, is_about_time(objective) ? changed + cost : changed, kept);
  if (gain < policy.min_gain) {
    keep.gain = gain;
    keep.cost_s = cost;
    keep.reason = fmt::format("another split would gain {:.1f} %, less than min_gain", 100 * gain);
    return keep;
  }
  return {*best, gain, cost, fmt::format("predicted better by {:.1f} %", 100 * gain)};
}

}  // namespace

double rate_on(const TaskView& task, int ranks) {
  for (const RateRow& row : task.rates.rows())
    if (row.gpus == ranks) return row.rate;
  return 0;
}

bool ShareDecision::is_change(const std::vector<TaskView>& tasks) const {
  return ranks != present(tasks);
}

std::optional<double> value_of_keeping(Objective objective, const std::vector<TaskView>& tasks,
                                       const std::vector<int>& ranks, int num_ranks) {
  if (!is_about_time(objective)) {
    Split split;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      split.push_back({ranks[i], 0, rate_on(tasks[i], ranks[i])});
    return value_of(problem_of(objective, tasks, num_ranks), split);
  }
  double first_end = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (const double rate = rate_on(tasks[i], ranks[i]); rate > 0)
      first_end = std::min(first_end, tasks[i].steps_left / rate);
  if (!std::isfinite(first_end)) return std::nullopt;
  std::vector<TaskView> rest;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    TaskView task = tasks[i];
    task.steps_left -= first_end * rate_on(task, ranks[i]);
    if (task.steps_left > 1e-9 * tasks[i].steps_left) rest.push_back(task);
  }
  const std::optional<double> then = best_value(objective, rest, num_ranks);
  if (!then) return std::nullopt;
  if (objective == Objective::makespan) return first_end + *then;
  return first_end + *then * total_weight(rest) / total_weight(tasks);
}

ShareDecision decide(const SharePolicyOptions& policy, Objective objective, const std::vector<TaskView>& tasks,
                     int num_ranks) {
  if (tasks.empty()) return {{}, 0, 0, "all tasks have ended"};
  switch (policy.name) {
    case SharePolicyName::adaptive:
      return decide_adaptively(policy, objective, tasks, num_ranks);
    case SharePolicyName::equal:
    case SharePolicyName::fixed: {
      std::vector<int> wanted;
      wanted.reserve(tasks.size());
      for (const TaskView& task : tasks)
        wanted.push_back(task.fixed_ranks);
      const std::vector<int> ranks = given_in_order(tasks, wanted, num_ranks);
      return {ranks, 0, cost_of_moves(tasks, ranks, num_ranks), "as the policy says"};
    }
    case SharePolicyName::sequential: {
      const std::vector<int> ranks = first_alone(tasks, num_ranks);
      return {ranks, 0, cost_of_moves(tasks, ranks, num_ranks), "one task after another"};
    }
  }
  return {present(tasks), 0, 0, ""};
}

}  // namespace multicard
