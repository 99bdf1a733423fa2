#include "scheduling/solve/Schedule.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "scheduling/solve/NodePlacement.hpp"

namespace multicard {

namespace {

std::vector<int> nodes_of(const Split& split, const Machine& machine) {
  std::vector<int> nodes(split.size(), 0);
  const std::optional<std::vector<Placement>> placement = place(split, machine);
  for (std::size_t task = 0; task < split.size(); ++task)
    nodes[task] = placement ? static_cast<int>((*placement)[task].size()) : split[task].nodes;
  return nodes;
}

void sort(TaskSchedule& schedule) {
  std::sort(schedule.begin(), schedule.end(), [](const ScheduleEntry& a, const ScheduleEntry& b) {
    return std::tie(a.start_s, a.task) < std::tie(b.start_s, b.task);
  });
}

}  // namespace

TaskSchedule schedule_of(const AllocationProblem& problem, const Split& split) {
  const std::vector<int> nodes = nodes_of(split, problem.machine);
  TaskSchedule schedule;
  for (std::size_t task = 0; task < split.size(); ++task) {
    if (split[task].gpus == 0) continue;
    const double work = problem.tasks[task].work;
    const double end = work > 0 ? work / split[task].rate : std::numeric_limits<double>::infinity();
    schedule.push_back({task, split[task].gpus, nodes[task], 0, end});
  }
  return schedule;
}

TaskSchedule schedule_of(const AllocationProblem& problem, const std::vector<SplitPhase>& phases) {
  TaskSchedule schedule;
  std::vector<std::size_t> latest(problem.tasks.size(), 0);  // entry of each task, counted from 1
  double now = 0;
  for (const SplitPhase& phase : phases) {
    const std::vector<int> nodes = nodes_of(phase.split, problem.machine);
    const double end = now + phase.seconds;
    for (std::size_t task = 0; task < phase.split.size(); ++task) {
      const int gpus = phase.split[task].gpus;
      if (gpus == 0) continue;
      ScheduleEntry* last = latest[task] == 0 ? nullptr : &schedule[latest[task] - 1];
      // Exactly equal where phases follow each other: `now` has the bits of that end.
      if (last != nullptr && last->end_s == now && last->gpus == gpus && last->nodes == nodes[task]) {
        last->end_s = end;
        continue;
      }
      schedule.push_back({task, gpus, nodes[task], now, end});
      latest[task] = schedule.size();
    }
    now = end;
  }
  sort(schedule);
  return schedule;
}

std::optional<std::vector<SplitPhase>> one_after_another(const AllocationProblem& problem,
                                                         const std::vector<std::size_t>& order) {
  std::vector<SplitPhase> phases;
  for (const std::size_t task : order) {
    const Choice best = problem.tasks[task].table.best(problem.machine);
    if (best.gpus == 0 || !(problem.tasks[task].work > 0)) return std::nullopt;
    SplitPhase phase{Split(problem.tasks.size()), problem.tasks[task].work / best.rate};
    phase.split[task] = best;
    phases.push_back(std::move(phase));
  }
  return phases;
}

double value_of(const AllocationProblem& problem, const TaskSchedule& schedule) {
  std::vector<double> ends(problem.tasks.size(), 0);
  for (const ScheduleEntry& entry : schedule)
    ends[entry.task] = std::max(ends[entry.task], entry.end_s);
  if (problem.objective == Objective::makespan) return *std::max_element(ends.begin(), ends.end());
  double sum = 0, weights = 0;
  for (std::size_t task = 0; task < ends.size(); ++task) {
    sum += problem.tasks[task].weight * ends[task];
    weights += problem.tasks[task].weight;
  }
  return sum / weights;
}

std::optional<double> sequential_value(const AllocationProblem& problem) {
  if (!is_about_time(problem.objective)) return std::nullopt;
  std::vector<std::size_t> order(problem.tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::optional<std::vector<SplitPhase>> phases = one_after_another(problem, order);
  if (!phases) return std::nullopt;
  return value_of(problem, schedule_of(problem, *phases));
}

}  // namespace multicard
