#pragma once
/// \file Random problems for the tests of the solver, and their solution by trying everything.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "scheduling/solve/SplitProblem.hpp"

namespace multicard {

constexpr Objective kObjectives[] = {Objective::makespan, Objective::weighted_throughput, Objective::fairness,
                                     Objective::average_completion};

/// What a random problem is like.
struct MixShape {
  int most_tasks = 4, most_rows = 5;
  Machine machine;
  bool has_nodes = false;        ///< rows for numbers of nodes
  bool has_whole_rates = false;  ///< from 1 to 6: many ties
};

inline RateTable random_table(std::mt19937& random, const MixShape& shape) {
  const auto whole = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::vector<RateRow> rows;
  for (int left = whole(1, shape.most_rows); left > 0; --left) {
    RateRow row;
    row.gpus = whole(1, shape.machine.gpus());
    row.rate = shape.has_whole_rates ? whole(1, 6) : std::uniform_real_distribution<double>(0.1, 10)(random);
    if (shape.has_nodes && whole(0, 2) > 0) {
      const int least = (row.gpus + shape.machine.gpus_per_node - 1) / shape.machine.gpus_per_node;
      row.nodes = whole(least, std::min(shape.machine.nodes, row.gpus));
    }
    rows.push_back(row);
  }
  return RateTable(rows);
}

inline AllocationProblem random_mix(std::mt19937& random, const MixShape& shape, Objective objective) {
  AllocationProblem problem{objective, shape.machine, {}};
  for (int left = std::uniform_int_distribution<int>(1, shape.most_tasks)(random); left > 0; --left) {
    AllocationTask task;
    task.table = random_table(random, shape);
    task.work = std::uniform_int_distribution<int>(1, 20)(random);
    task.weight = std::uniform_int_distribution<int>(1, 3)(random);
    problem.tasks.push_back(task);
  }
  return problem;
}

/// The costs of a split as the objective compares them: their sum, or all of them, the largest first.
inline std::vector<double> comparable(const AllocationProblem& problem, const Split& split) {
  std::vector<double> costs;
  for (std::size_t task = 0; task < split.size(); ++task)
    costs.push_back(cost_of(problem, task, split[task], problem.tasks[task].table.best(problem.machine).rate));
  if (problem.objective == Objective::makespan || problem.objective == Objective::fairness) {
    std::sort(costs.rbegin(), costs.rend());
    return costs;
  }
  double sum = 0;
  for (const double cost : costs)
    sum += cost;
  return {sum};
}

/// Tries to put tasks from `task` on into the free GPUs of the nodes, in all ways.
inline bool can_place(const Split& split, std::vector<int>& free, std::size_t task, std::size_t node, int gpus,
                      int nodes) {
  if (node == free.size()) {
    if (gpus != split[task].gpus || (split[task].nodes > 0 && nodes != split[task].nodes)) return false;
    return task + 1 == split.size() || can_place(split, free, task + 1, 0, 0, 0);
  }
  for (int part = 0; part <= std::min(free[node], split[task].gpus - gpus); ++part) {
    free[node] -= part;
    const bool fits = can_place(split, free, task, node + 1, gpus + part, nodes + (part > 0 ? 1 : 0));
    free[node] += part;
    if (fits) return true;
  }
  return false;
}

inline bool can_place(const Split& split, const Machine& machine) {
  std::vector<int> free(static_cast<std::size_t>(machine.nodes), machine.gpus_per_node);
  return can_place(split, free, 0, 0, 0, 0);
}

/// The best split of all; nullopt where none can be placed.
class EverySplit {
 public:
  explicit EverySplit(const AllocationProblem& problem) : problem_(problem) { search(0, problem.machine.gpus()); }

  const std::optional<std::vector<double>>& best() const { return best_; }

 private:
  void search(std::size_t task, int gpus) {
    if (task == problem_.tasks.size()) {
      if (const std::vector<double> found = comparable(problem_, split_);
          (!best_ || found < *best_) && can_place(split_, problem_.machine))
        best_ = found;
      return;
    }
    std::vector<Choice> choices = problem_.tasks[task].table.usable(problem_.machine);
    if (!is_about_time(problem_.objective) && !choices.empty()) choices.push_back({});
    for (const Choice& choice : choices) {
      if (choice.gpus > gpus) continue;
      split_.push_back(choice);
      search(task + 1, gpus - choice.gpus);
      split_.pop_back();
    }
  }

  const AllocationProblem& problem_;
  Split split_;
  std::optional<std::vector<double>> best_;
};

}  // namespace multicard
