#pragma once
/// \file Who has how many GPUs, and when.

#include <cstddef>
#include <optional>
#include <vector>

#include "scheduling/solve/SplitProblem.hpp"

namespace multicard {

/// A task on constant GPUs.
struct ScheduleEntry {
  std::size_t task = 0;
  int gpus = 0;
  int nodes = 0;  ///< over which they are spread
  double start_s = 0;
  double end_s = 0;  ///< infinite where the work of the task is not known
};

/// By start, then task. Where one entry follows another, the end of the one and the start of the other have the same
/// bits.
using TaskSchedule = std::vector<ScheduleEntry>;

/// A split that stands for some time. Tasks with gpus 0 pause.
struct SplitPhase {
  Split split;
  double seconds = 0;
};

/// All tasks of the split from the beginning, until their work is done. The split can be placed.
TaskSchedule schedule_of(const AllocationProblem& problem, const Split& split);

/// Phases one after another; a task whose GPUs stay the same has one entry for all of them. All splits can be placed.
TaskSchedule schedule_of(const AllocationProblem& problem, const std::vector<SplitPhase>& phases);

/// One task after another in the given order, each at its best rate; nullopt where a task has none, or its work is not
/// known.
std::optional<std::vector<SplitPhase>> one_after_another(const AllocationProblem& problem,
                                                         const std::vector<std::size_t>& order);

/// The objective's value of a schedule, for objectives about time; all tasks end in it.
double value_of(const AllocationProblem& problem, const TaskSchedule& schedule);

/// The objective's value of one task after another in deck order; nullopt where one_after_another() has none, and for
/// objectives about rates, which are those of tasks that run together.
std::optional<double> sequential_value(const AllocationProblem& problem);

}  // namespace multicard
