#pragma once
/// \file The best phases, as a linear program whose columns are splits.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduling/solve/Schedule.hpp"
#include "scheduling/solve/SearchBudget.hpp"

namespace multicard {

/// Tasks in the order in which they are to end, cut into stages: task order[k] ends with stage k at the latest (with
/// the last stage where there are fewer stages than tasks), and runs in no later one. In stage k any split of the
/// machine among tasks that have not ended may stand for any time, and a second of it costs stage_costs[k].
struct PhaseInput {
  std::vector<std::size_t> order;
  std::vector<double> stage_costs;  ///< one, or one for each task
};

struct PhaseOutput {
  std::vector<SplitPhase> phases;   ///< by stage
  std::vector<std::size_t> stages;  ///< of each phase
  double bound = 0;                 ///< no schedule with these stages costs less
  std::int64_t num_operations = 0;  ///< additions, about
};

/// Minimises Σ_s c_s t_s over the times t_s of all splits s in all stages, such that every task does its work:
///
///     Σ_s r_j(s) t_s = W_j for each task j,   t ≥ 0.
///
/// There are very many splits, so they are generated (Gilmore and Gomory, 1961): with the prices y of the tasks' work,
/// the split that saves most in stage k is the one with the largest Σ_j y_j r_j(s), which is a SumSplit; one table has
/// the answers for all stages; for large machines HullSplit looks first, and SumSplit only where that finds nothing.
/// The simplex method starts from one task after another and has as many splits in its basis as there are tasks, so
/// that many phases are enough. With ρ = max_k max_s Σ_j y_j r_j(s) / c_k, y / ρ satisfies the dual program's
/// constraints, so Σ_j y_j W_j / ρ is a lower bound (Farley, 1990); it meets the value when no split saves anything.
///
/// \param choices useful_choices() of the problem, none empty; works are above 0
/// \param most_operations additions, after which the best phases so far are the answer, as where the budget is spent
PhaseOutput best_phases(const AllocationProblem& problem, const std::vector<std::vector<Choice>>& choices,
                        const PhaseInput& input, std::int64_t most_operations, SearchBudget& budget);

}  // namespace multicard
