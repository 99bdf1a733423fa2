#pragma once
/// \file The answer to "who gets which GPUs, and when".

#include <optional>

#include "scaling/Schedule.hpp"

namespace multicard {

/// What schedules may be.
enum class ScheduleKind {
  any,          ///< tasks may follow each other, pause and change their GPUs
  static_split  ///< all start together and keep their GPUs
};

struct Allocation {
  TaskSchedule schedule;
  double value = 0;                  ///< of the objective
  double bound = 0;                  ///< no schedule of that kind has a better value
  std::optional<double> equal;       ///< value of equal_split()
  std::optional<double> sequential;  ///< sequential_value()
};

/// The best allocation for an objective about rates or one of static splits: best_static_split(). Else the best of
/// that, of equal_split(), of one after another, and of best_phased(); of equally good ones (to 1e-12) the first in
/// this order. nullopt where there is none: a task that has to run has no usable choice, or not all tasks can run at
/// once.
///
/// Moving a task to other GPUs takes no time here.
std::optional<Allocation> allocate(const AllocationProblem& problem, ScheduleKind kind);

}  // namespace multicard
