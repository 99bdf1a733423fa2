#pragma once
/// \file Dividing GPUs among jobs by what each count is worth to them.

#include <vector>

namespace multicard {

/// What a count of GPUs is worth to a job.
struct Utility {
  int gpus = 0;
  double value = 0;
};

/// The upper hull of a job's utility over GPUs. It steps over counts that bring less than the next larger ones, as
/// where a language model needs a whole node for another parallel strategy.
class UtilityCurve {
 public:
  explicit UtilityCurve(double without_gpus) : hull_{{0, without_gpus}} {}

  /// Counts must rise. What is not worth more than fewer GPUs is left out.
  void add(const Utility& utility);
  const std::vector<Utility>& hull() const { return hull_; }

 private:
  std::vector<Utility> hull_;
};

/// GPUs of each job so that the sum of utilities is large: along the hulls, the steepest step that fits first; of equal
/// ones the first job's. Within one step of the largest sum where no step is left out.
std::vector<int> divide_gpus(const std::vector<UtilityCurve>& curves, int num_gpus);

}  // namespace multicard
