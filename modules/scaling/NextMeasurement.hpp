#pragma once
/// \file Which measurement would matter most.

#include <cstddef>
#include <optional>

#include "scaling/SplitProblem.hpp"

namespace multicard {

struct NextMeasurement {
  std::size_t task = 0;
  int gpus = 0;      ///< number that its table does not have
  double value = 0;  ///< of the best static split if the task were as fast there as can be hoped
};

/// The task whose missing numbers of GPUs can change the best static split most. For each task alone they are filled in
/// as well as can be hoped: in proportion to the next smaller measured number (below the smallest, none), but no faster
/// than the faster of its two measured neighbours. The number of GPUs is the one that the task then gets. nullopt where
/// no gap can improve anything, for fairness (where a
/// faster task takes more from the others), where a task is bound to numbers of nodes, or where the machine is too
/// large to try it.
std::optional<NextMeasurement> next_measurement(const AllocationProblem& problem);

}  // namespace multicard
