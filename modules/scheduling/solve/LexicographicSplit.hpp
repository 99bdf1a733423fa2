#pragma once
/// \file The split whose largest cost is smallest, then the next largest, and so on.

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "scheduling/solve/SearchBudget.hpp"

namespace multicard {

/// The rank of each cost among all costs: equal costs have equal ranks, larger ones higher ranks.
using CostRanks = std::vector<std::vector<int>>;  ///< [task][choice]
CostRanks ranks_of(const std::vector<std::vector<double>>& costs);

/// A split in which no task's cost has a rank above its limit, as the index of each task's choice; nullopt if none
/// fits.
using Fitting = std::function<std::optional<std::vector<std::size_t>>(const std::vector<int>& limits)>;

/// The fewest GPUs with which a task's cost has no rank above `limit`; more than any machine has where none does.
using FewestGpus = std::function<int(std::size_t task, int limit)>;

/// The split that minimises max_j c_j, among those the second largest c_j, and so on (lexicographic min-max), for costs
/// of any shape; nullopt where no split fits at all. `fitting` decides what fits.
///
/// Level by level: bisection over the ranks finds the smallest limit L of all tasks that are not settled; of the tasks
/// with a cost of exactly L the fewest possible stay there and are settled, the others go below. Which ones stay is
/// only a question when several tasks have a cost of exactly L and are not of one kind: then all smallest sets are
/// compared, up to a number of calls of `fitting`. Beyond it tasks go below one by one, those first to which `fewest`
/// gives fewest GPUs more for it, which of tasks that are not bound to nodes leaves the fewest too. The largest cost is
/// exact in any case but one: a budget that is spent before it is found.
///
/// \param kinds of the tasks: those of equal kinds have the same choices at the same costs
std::optional<std::vector<std::size_t>> lexicographic_split(const CostRanks& ranks, const std::vector<int>& kinds,
                                                            const Fitting& fitting, const FewestGpus& fewest,
                                                            SearchBudget& budget);

}  // namespace multicard
