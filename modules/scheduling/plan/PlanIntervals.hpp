#pragma once
/// \file How sure the times of a plan are.

#include <optional>
#include <vector>

#include "base/Estimate.hpp"
#include "scheduling/solve/Allocation.hpp"

namespace multicard {

/// 95 % intervals; nothing where a rate that a number is made from has none.
struct PlanIntervals {
  std::optional<Interval> value;              ///< of the objective
  std::vector<std::optional<Interval>> ends;  ///< of each entry of the schedule, seconds
};

/// What becomes of the allocation when rates are others than in the tables: each rate that it uses is drawn, by itself,
/// from a logarithmic normal distribution around the table's with the row's interval (half of one on each side), a
/// thousand times. Entries keep their GPUs, their order and their work: one begins when those before it, of its task
/// and on its GPUs, have ended; on idle GPUs when those have that end as it begins. The same input gives the same
/// intervals.
PlanIntervals predict_intervals(const AllocationProblem& problem, const Allocation& allocation);

}  // namespace multicard
