#pragma once
/// \file Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101).

#include "train/AdamOptimizer.hpp"

namespace multicard {

/// torch.optim.AdamW, as one fused ATen operation over all parameters that decay alike: weight decay shrinks the
/// weights by 1 - learning rate * weight decay first. Moments have the type of their parameters.
class AdamWOptimizer final : public AdamOptimizer {
 public:
  AdamWOptimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated);

  void step(double learning_rate, const at::Tensor& found_inf = {}) override;
  /// `exp_avg.NAME`, `exp_avg_sq.NAME` and the 0-dim float32 `step`.
  NamedTensors state() const override;

 private:
  std::vector<at::Tensor> first_moments_, second_moments_;  ///< averages of the gradient and of its square
  std::vector<std::vector<at::Tensor>> first_of_groups_, second_of_groups_;
};

}  // namespace multicard
