#pragma once
/// \file Splits among tasks of which some are bound to numbers of nodes.

#include <cstddef>
#include <optional>
#include <vector>

#include "scheduling/solve/SearchBudget.hpp"
#include "scheduling/solve/SplitProblem.hpp"

namespace multicard {

/// A split and what none can be below.
struct PlacedSum {
  std::optional<std::vector<std::size_t>> indices;  ///< of each task's choice; none where none was found
  double bound = 0;  ///< no placeable split has a smaller sum; infinite where none can be placed
};

/// Depth-first search over the choices of all tasks for splits that can be placed. It is exact as long as it ends
/// within a fixed number of steps, which it does for some ten tasks, and within the budget; beyond that the best split
/// found by then counts, and the budget knows.
class PlacedSplit {
 public:
  /// \param choices of each task, with {0, 0, 0} where it may also not run
  PlacedSplit(std::vector<std::vector<Choice>> choices, const Machine& machine, SearchBudget& budget);

  /// The placeable split with the smallest sum of costs[task][choice]. Branches are left out that SumSplit, which knows
  /// no nodes, shows to be no better than the best split so far; of a search that was cut short its sum is the bound.
  PlacedSum smallest_sum(const std::vector<std::vector<double>>& costs);

  /// A placeable split in which each task takes one of the choices that `allowed[task]` lists, by GPUs.
  std::optional<std::vector<std::size_t>> any_of(const std::vector<std::vector<std::size_t>>& allowed);

 private:
  bool is_placeable(const std::vector<std::size_t>& indices);
  bool search_any(const std::vector<std::vector<std::size_t>>& allowed, std::size_t task, int gpus);

  std::vector<std::vector<Choice>> choices_;
  Machine machine_;
  std::vector<int> fewest_after_;  ///< GPUs that the tasks after this one need at least
  std::vector<std::size_t> chosen_;
  SearchBudget& budget_;
  int steps_ = 0;
};

}  // namespace multicard
