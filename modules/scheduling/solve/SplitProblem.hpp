#pragma once
/// \file What is to be split: tasks, a machine, and what counts.

#include <cstddef>
#include <string>
#include <vector>

#include "config/Words.hpp"
#include "scheduling/rates/RateTable.hpp"

namespace multicard {

/// What an allocation is judged by. With r_j the rate of task j, w_j its weight, W_j its work, C_j when it ends, and
/// b_j its best rate on the machine:
enum class Objective {
  makespan,             ///< minimise max_j C_j
  weighted_throughput,  ///< maximise Σ_j w_j r_j of one split, in which tasks may get no GPU
  fairness,             ///< maximise min_j r_j / (w_j b_j) of one split, then the next smallest, and so on
  average_completion    ///< minimise Σ_j w_j C_j / Σ_j w_j
};

inline constexpr Word<Objective> kObjectiveWords[] = {{"makespan", Objective::makespan},
                                                      {"weighted-throughput", Objective::weighted_throughput},
                                                      {"fairness", Objective::fairness},
                                                      {"average-completion", Objective::average_completion}};

/// Whether the objective is about when tasks end: those may run after one another.
bool is_about_time(Objective objective);
/// Whether larger values are better.
bool is_maximised(Objective objective);
/// Whether `value` is better than `other`.
bool is_better(Objective objective, double value, double other);

/// Weights are added, multiplied with rates and divided by each other.
inline constexpr double kLeastWeight = 1e-9, kMostWeight = 1e9;

/// A task to which GPUs are given.
struct AllocationTask {
  std::string name;
  RateTable table;
  double work = 0;    ///< units; 0: not known, which only objectives about rates allow
  double weight = 1;  ///< above 0
};

struct AllocationProblem {
  Objective objective = Objective::makespan;
  Machine machine;
  std::vector<AllocationTask> tasks;
};

/// The choice of each task; gpus 0: it does not run.
using Split = std::vector<Choice>;

/// The choices of each task without those that another one makes useless: at most as many GPUs, at least as fast, and
/// on the same number of nodes or on any. On a machine of one node all choices are for any placement.
std::vector<std::vector<Choice>> useful_choices(const AllocationProblem& problem);
/// Whether some choice is for a number of nodes alone.
bool is_bound_to_nodes(const std::vector<std::vector<Choice>>& choices);

/// What the objective keeps small, of one task: W / r for the makespan, w W / r for the average completion (their sum),
/// -w r for the weighted throughput (their sum), -r / (w b) for fairness. \param best_rate b of the task
double cost_of(const AllocationProblem& problem, std::size_t task, const Choice& choice, double best_rate);

/// The objective's value of a static split: all tasks start together and keep their GPUs. Infinite where a task that
/// has to end does not run.
double value_of(const AllocationProblem& problem, const Split& split);

}  // namespace multicard
