#pragma once
/// \file Stochastic gradient descent, with momentum or without.

#include "train/Optimizer.hpp"

namespace multicard {

/// torch.optim.SGD with dampening 0: weight decay is added to the gradient.
class SgdOptimizer final : public Optimizer {
 public:
  SgdOptimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated);

  void step(double learning_rate, const at::Tensor& found_inf = {}) override;
  /// `momentum_buffer.NAME` with momentum, nothing without.
  NamedTensors state() const override;

 private:
  double momentum_;
  bool nesterov_;
  std::vector<at::Tensor> buffers_;
  std::vector<std::vector<at::Tensor>> buffers_of_groups_;
};

}  // namespace multicard
