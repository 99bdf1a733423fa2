#pragma once
/// \file The answer to "who gets which GPUs, and when".

#include <optional>

#include "scheduling/solve/Schedule.hpp"
#include "scheduling/solve/SearchBudget.hpp"

namespace multicard {

/// What schedules may be.
enum class ScheduleKind {
  any,          ///< tasks may follow each other, pause and change their GPUs
  static_split  ///< all start together and keep their GPUs
};

struct Allocation {
  TaskSchedule schedule;
  double value = 0;                        ///< of the objective
  double bound = 0;                        ///< no schedule of that kind has a better value
  std::optional<double> equal;             ///< value of equal_split()
  std::optional<double> sequential;        ///< sequential_value()
  SearchEnd search = SearchEnd::complete;  ///< whether a longer one could find something better

  /// The value's distance from the bound, as a share of the larger of both; 0 where it is the best.
  double gap() const;
};

/// The best allocation for an objective about rates or one of static splits: best_static_split(). Else the best of
/// that, of equal_split(), of one after another, and of best_phased(); of equally good ones (to 1e-12) the first in
/// this order. nullopt where there is none: a task that has to run has no usable choice, or not all tasks can run at
/// once.
///
/// The search takes from the budget; where that is spent, or a part reached a limit of its own, `search` says so, and
/// the value may be worse than the bound; nullopt then says that none was found.
///
/// Moving a task to other GPUs takes no time here.
std::optional<Allocation> allocate(const AllocationProblem& problem, ScheduleKind kind, SearchBudget& budget);
/// The same with a budget of its own.
std::optional<Allocation> allocate(const AllocationProblem& problem, ScheduleKind kind);

}  // namespace multicard
