#include "scheduling/policy/SplitValue.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace multicard {

namespace {

constexpr int kFewerOperations = 4;  ///< of a search that also places tasks on nodes: there are several for a decision

AllocationProblem problem_of(Objective objective, const std::vector<TaskView>& tasks, const Machine& machine) {
  AllocationProblem problem;
  problem.objective = objective;
  problem.machine = machine;
  for (const TaskView& task : tasks)
    problem.tasks.push_back({task.name, task.rates, task.steps_left, task.weight});
  return problem;
}

std::optional<Allocation> allocate_soon(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                        const Machine& machine) {
  const int part = machine.nodes > 1 ? kFewerOperations : 1;
  SearchBudget budget(options.most_operations / part, options.most_seconds / part);
  return allocate(problem_of(options.objective, tasks, machine), ScheduleKind::any, budget);
}

std::optional<double> best_value(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                 const Machine& machine) {
  if (tasks.empty()) return 0;
  const std::optional<Allocation> best = allocate_soon(options, tasks, machine);
  return best ? std::optional(best->value) : std::nullopt;
}

double total_weight(const std::vector<TaskView>& tasks) {
  return std::accumulate(tasks.begin(), tasks.end(), 0.0,
                         [](double sum, const TaskView& task) { return sum + task.weight; });
}

}  // namespace

std::optional<std::vector<RanksOnNodes>> best_places(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                                     const Machine& machine) {
  const std::optional<Allocation> best = allocate_soon(options, tasks, machine);
  if (!best) return std::nullopt;
  std::vector<RanksOnNodes> places(tasks.size());
  // Only the beginning counts: when it ends, more has been measured and the rest is decided again.
  for (const ScheduleEntry& entry : best->schedule)
    if (entry.start_s == 0) places[entry.task] = {entry.gpus, machine.nodes > 1 ? entry.nodes : 0};
  return places;
}

std::optional<double> value_of_keeping(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                       const std::vector<RanksOnNodes>& places, const Machine& machine) {
  if (!is_about_time(options.objective)) {
    Split split;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      split.push_back({places[i].ranks, places[i].nodes, rate_on(tasks[i], places[i])});
    return value_of(problem_of(options.objective, tasks, machine), split);
  }
  // No split is kept to the end: it lasts until its first task ends, and the best for what is left follows. In an
  // average completion the tasks that are left count with their share of the weights, and all wait for this first part.
  const double end_s = first_end(tasks, places);
  if (!std::isfinite(end_s)) return std::nullopt;
  std::vector<TaskView> rest;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    TaskView task = tasks[i];
    task.steps_left -= end_s * rate_on(task, places[i]);
    // The task that ends here has nothing left but what rounding leaves.
    if (task.steps_left > 1e-9 * tasks[i].steps_left) rest.push_back(task);
  }
  const std::optional<double> then = best_value(options, rest, machine);
  if (!then) return std::nullopt;
  if (options.objective == Objective::makespan) return end_s + *then;
  return end_s + *then * total_weight(rest) / total_weight(tasks);
}

std::optional<Allocation> expected_values(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                          const Machine& machine) {
  if (tasks.empty() || std::any_of(tasks.begin(), tasks.end(), [](const TaskView& task) { return task.is_unknown(); }))
    return std::nullopt;
  return allocate_soon(options, tasks, machine);
}

}  // namespace multicard
