#pragma once
/// \file Schedules in which tasks follow each other, change their GPUs and take over those of tasks that have ended.

#include "scheduling/solve/Schedule.hpp"
#include "scheduling/solve/SearchBudget.hpp"

namespace multicard {

struct PhasedResult {
  std::vector<SplitPhase> phases;
  double bound = 0;  ///< no schedule, whatever its phases, has a smaller value
};

/// The best phases for an objective about time. All tasks have usable choices and known work.
///
/// - makespan: one stage for all tasks (PhaseProgram), which is the best of all schedules;
/// - average completion: a stage for each task, in the order in which the tasks end, at the cost of the weights that
///   have not ended, which is the best schedule with this order. Up to four tasks all orders are tried; for more, some
///   orders that rules suggest, and exchanges of neighbours as long as they help.
///
/// The work is bounded by a number of additions, not by time: equal problems have equal schedules. The bound of the
/// average completion with more than four tasks is the larger of two: each task alone, and the machine as a single
/// resource on which task j needs a_j = min_g g W_j / r_j(g) GPU-seconds, whose best order is by a_j / w_j (Smith,
/// 1956).
PhasedResult best_phased(const AllocationProblem& problem, SearchBudget& budget);

}  // namespace multicard
