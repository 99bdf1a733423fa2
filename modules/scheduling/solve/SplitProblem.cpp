#include "scheduling/solve/SplitProblem.hpp"

#include <algorithm>
#include <limits>

namespace multicard {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Whether whatever `choice` leaves for other tasks, `other` leaves too, at no lower rate: GPUs can be taken from a
/// placement on n nodes one by one until one a node is left, and a choice for any placement fits wherever there is
/// room.
bool is_dominated(const Choice& choice, const Choice& other) {
  return other.gpus <= choice.gpus && other.rate >= choice.rate && (other.nodes == choice.nodes || other.nodes == 0);
}

std::vector<Choice> without_dominated(const std::vector<Choice>& choices) {
  std::vector<Choice> kept;
  for (const Choice& choice : choices) {
    // By GPUs, so only the fastest of those kept with these nodes, and with any, can dominate: the last ones.
    const auto dominates = [&](const Choice& other) { return is_dominated(choice, other); };
    const auto same =
        std::find_if(kept.rbegin(), kept.rend(), [&](const Choice& k) { return k.nodes == choice.nodes; });
    const auto any = std::find_if(kept.rbegin(), kept.rend(), [](const Choice& k) { return k.nodes == 0; });
    if ((same != kept.rend() && dominates(*same)) || (any != kept.rend() && dominates(*any))) continue;
    kept.push_back(choice);
  }
  return kept;
}

}  // namespace

bool is_about_time(Objective objective) {
  return objective == Objective::makespan || objective == Objective::average_completion;
}

bool is_maximised(Objective objective) {
  return !is_about_time(objective);
}

bool is_better(Objective objective, double value, double other) {
  return is_maximised(objective) ? value > other : value < other;
}

bool is_bound_to_nodes(const std::vector<std::vector<Choice>>& choices) {
  return std::any_of(choices.begin(), choices.end(), [](const std::vector<Choice>& one) {
    return std::any_of(one.begin(), one.end(), [](const Choice& choice) { return choice.nodes > 0; });
  });
}

std::vector<std::vector<Choice>> useful_choices(const AllocationProblem& problem) {
  std::vector<std::vector<Choice>> all;
  for (const AllocationTask& task : problem.tasks) {
    std::vector<Choice> choices = task.table.usable(problem.machine);
    if (problem.machine.nodes == 1)  // then every placement is on one node
      for (Choice& choice : choices)
        choice.nodes = 0;
    all.push_back(without_dominated(choices));
  }
  return all;
}

// All objectives as costs, of which the sum or the largest is to be small: so rates come with a minus.
double cost_of(const AllocationProblem& problem, std::size_t task, const Choice& choice, double best_rate) {
  const AllocationTask& one = problem.tasks[task];
  switch (problem.objective) {
    case Objective::weighted_throughput:
      return -one.weight * choice.rate;
    case Objective::fairness:
      return -choice.rate / (one.weight * best_rate);
    case Objective::makespan:
      return choice.rate > 0 ? one.work / choice.rate : kNever;
    case Objective::average_completion:
      break;
  }
  return choice.rate > 0 ? one.weight * (one.work / choice.rate) : kNever;
}

double value_of(const AllocationProblem& problem, const Split& split) {
  double sum = 0, weights = 0, largest = -kNever;
  for (std::size_t task = 0; task < split.size(); ++task) {
    const double cost = cost_of(problem, task, split[task], problem.tasks[task].table.best(problem.machine).rate);
    sum += cost;
    weights += problem.tasks[task].weight;
    largest = std::max(largest, cost);
  }
  switch (problem.objective) {
    case Objective::weighted_throughput:
      return -sum;
    case Objective::fairness:
      return -largest;
    case Objective::makespan:
      return largest;
    case Objective::average_completion:
      break;
  }
  return sum / weights;
}

}  // namespace multicard
