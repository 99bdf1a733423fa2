#pragma once
/// \file Which measurement would matter most.

#include <cstddef>
#include <optional>
#include <string>

#include "scheduling/solve/Allocation.hpp"

namespace multicard {

struct NextMeasurement {
  std::size_t task = 0;
  int gpus = 0;      ///< number that its table does not have
  double value = 0;  ///< of the best allocation if the task were as fast there as can be hoped
};

/// What to measure, or why nothing is named.
struct MeasurementAdvice {
  std::optional<NextMeasurement> next;
  std::string reason;  ///< empty where there is something to measure
};

/// The task whose missing numbers of GPUs can improve `best`, the best allocation of that kind, most. For each task
/// alone they are filled in as well as can be hoped: in proportion to the next smaller measured number (below the
/// smallest, none), but no faster than the faster of its two measured neighbours; in a table with numbers of nodes, on
/// as few nodes as hold the GPUs. The number of GPUs is the one that the task then has for longest. Nothing is named
/// for fairness (where a faster task takes more from the others), and where the machine is too large to try it or the
/// budget, does not suffice for all.
MeasurementAdvice next_measurement(const AllocationProblem& problem, ScheduleKind kind, const Allocation& best,
                                   SearchBudget& budget);

}  // namespace multicard
