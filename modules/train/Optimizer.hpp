#pragma once
/// \file Updating parameters.

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/RunOptions.hpp"
#include "state/NamedTensor.hpp"

namespace multicard {

/// SGD (torch.optim.SGD with dampening 0: weight decay is added to the gradient) or AdamW (torch.optim.AdamW: weight
/// decay shrinks the weights by 1 - lr * weight_decay first), each as one fused ATen operation over all parameters.
///
/// Parameters and gradients are fixed tensors that live at least as long as the optimizer: float32, float64 or
/// bfloat16, on one device, each gradient with the shape and strides of its parameter (views of flat buckets are fine).
/// Moments have the type of their parameters; bfloat16 ones are computed in float32 and rounded to nearest once an
/// update.
class Optimizer {
 public:
  /// \throws std::logic_error when parameters and gradients do not match.
  Optimizer(const OptimizerOptions& options, const NamedTensors& parameters, std::vector<at::Tensor> gradients);

  /// One update with learning rate `learning_rate`; the gradients stay as they are. Nothing changes when `found_inf` (a
  /// one-element float32 tensor on the device, undefined: 0) is not 0.
  void step(double learning_rate, const at::Tensor& found_inf = {});

  /// L2 norm over all gradients, summed in float64. Waits for the device.
  double gradient_norm() const { return gradient_norm_tensor().item<double>(); }
  /// Scales all gradients by min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_, and returns the norm
  /// before. Waits for the device.
  double clip(double max_norm) { return clip_tensor(max_norm).item<double>(); }
  /// \name The same as 0-dim float64 tensors on the device, without waiting
  /// @{
  at::Tensor gradient_norm_tensor() const;
  at::Tensor clip_tensor(double max_norm);
  /// @}

  /// The buffers themselves, for checkpoints and to be written into: `momentum_buffer.NAME` of sgd with momentum,
  /// `exp_avg.NAME`, `exp_avg_sq.NAME` and the 0-dim float32 `step` of adamw; nothing of plain sgd.
  NamedTensors state() const;

 private:
  /// Parameters that decay alike, with their gradients and moments.
  struct Group {
    double weight_decay = 0;
    std::vector<at::Tensor> parameters, gradients, first_moments, second_moments;
  };

  void make_groups();
  void step_sgd(const Group& group, double learning_rate, const std::optional<at::Tensor>& found_inf);
  void step_adamw(const Group& group, double learning_rate, const std::optional<at::Tensor>& found_inf);

  OptimizerOptions options_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_, gradients_;
  std::vector<at::Tensor> first_moments_;   ///< momentum buffers or averages of the gradient
  std::vector<at::Tensor> second_moments_;  ///< adamw: averages of the squared gradient
  at::Tensor num_steps_;                    ///< adamw: updates so far
  std::vector<Group> groups_;
};

}  // namespace multicard
