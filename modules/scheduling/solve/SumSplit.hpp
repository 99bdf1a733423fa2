#pragma once
/// \file The split with the largest sum of values, for values of any shape.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace multicard {

/// A number of GPUs and what it is worth.
struct Offer {
  int gpus = 0;
  double value = 0;
};

/// Dynamic programming over tasks and GPUs, from the last task to the first. With v_j(g) the value of task j on g GPUs,
///
///     best_j(G) = max over g of best_{j+1}(G - g) + v_j(g),   best_T = 0,
///
/// which is exact whatever the shape of v. O(tasks × GPUs × offers); the row of every suffix of the tasks is kept.
class SumSplit {
 public:
  /// \param offers for each task, by GPUs and without two of the same number; an offer of 0 GPUs says what it is worth
  /// not to run, without one the task must run
  SumSplit(std::vector<std::vector<Offer>> offers, int gpus);

  /// The largest sum of the tasks from `first` on with at most `gpus` GPUs; minus infinity where they do not fit.
  double best(std::size_t first, int gpus) const { return rows_[first][static_cast<std::size_t>(gpus)]; }

  /// The index of the offer that each task from `first` on takes (tasks before it: 0); the smallest of equally good
  /// ones, first tasks first. best(first, gpus) is finite.
  std::vector<std::size_t> chosen(std::size_t first, int gpus) const;

  /// Additions that the table costs, for those who have a budget.
  static std::int64_t num_operations(const std::vector<std::vector<Offer>>& offers, int gpus);

 private:
  std::vector<std::vector<Offer>> offers_;
  std::vector<std::vector<double>> rows_;  ///< [tasks + 1][gpus + 1]
};

}  // namespace multicard
