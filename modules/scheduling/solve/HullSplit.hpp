#pragma once
/// \file Nearly the best sum over tasks, in the time of a sort.

#include <cstddef>
#include <vector>

#include "scheduling/solve/ConcaveHull.hpp"
#include "scheduling/solve/SplitProblem.hpp"

namespace multicard {

/// Splits by the concave hulls of the rates: steps from one corner of a hull to the next are taken in the order of what
/// they add for each GPU, as long as they fit. With the fraction of the first step that does not fit this is the
/// optimum of the linear relaxation (the multiple-choice knapsack's, Sinha and Zoltners 1979), which bounds the best
/// sum from above. What is left over improves one task. Many GPUs leave little between the two.
class HullSplit {
 public:
  struct Found {
    Split split;
    double worth = 0;  ///< Σ prices[j] r_j of the split
    double bound = 0;  ///< no split is worth more
  };

  /// \param choices of each task, for any placement, by GPUs with rising rates
  explicit HullSplit(const std::vector<std::vector<Choice>>& choices);

  /// What a unit of work of each task is worth; tasks without a positive price get nothing.
  void set_prices(const std::vector<double>& prices);

  /// The split of the tasks from `first` on.
  Found best(std::size_t first, int gpus) const;
  /// Gives what `found` leaves over to the task to which it is worth most.
  void use_rest(std::size_t first, int gpus, Found& found) const;

  std::size_t num_steps() const { return steps_.size(); }

 private:
  struct Step {
    double worth_per_gpu = 0;
    std::size_t task = 0;
    std::size_t corner = 0;
  };

  const std::vector<std::vector<Choice>>& choices_;
  std::vector<ConcaveHull> hulls_;  ///< of the rates
  std::vector<double> prices_;
  std::vector<Step> steps_;
};

}  // namespace multicard
