#pragma once
/// \file Dividing GPUs among tasks by what each number of them is worth.

#include <vector>

namespace multicard {

/// What a number of GPUs is worth to a task.
struct Utility {
  int gpus = 0;
  double value = 0;
};

/// What a GPU adds from one point to the next.
inline double slope(const Utility& from, const Utility& to) {
  return (to.value - from.value) / (to.gpus - from.gpus);
}

/// The upper hull of a task's utility over GPUs. It steps over numbers of GPUs that bring less than the next larger
/// ones, as where a language model needs a whole node for another parallel strategy.
class ConcaveHull {
 public:
  explicit ConcaveHull(double without_gpus = 0) : corners_{{0, without_gpus}} {}

  /// Numbers of GPUs must rise. What is not worth more than fewer GPUs is left out.
  void add(const Utility& utility);
  /// From no GPUs on.
  const std::vector<Utility>& corners() const { return corners_; }

 private:
  std::vector<Utility> corners_;
};

/// GPUs of each task so that the sum of utilities is large: along the hulls, the steepest step that fits first; of
/// equal ones the first task's. Within one step of the largest sum where no step is left out.
std::vector<int> divide_gpus(const std::vector<ConcaveHull>& hulls, int num_gpus);

}  // namespace multicard
