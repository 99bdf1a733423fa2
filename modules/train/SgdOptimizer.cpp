#include "train/SgdOptimizer.hpp"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sgd.h>

namespace multicard {

SgdOptimizer::SgdOptimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated)
    : Optimizer(options, updated), momentum_(options.momentum), nesterov_(options.nesterov) {
  if (momentum_ > 0) buffers_ = zeros_like_parameters();
  for (const Group& group : groups())
    buffers_of_groups_.push_back(buffers_.empty() ? buffers_ : of_group(group, buffers_));
}

void SgdOptimizer::step(double learning_rate, const at::Tensor& found_inf) {
  const at::NoGradGuard no_grad;
  const std::optional<at::Tensor> found = found_inf.defined() ? std::optional(found_inf) : std::nullopt;
  // From buffers of zeros the first step needs no case of its own: momentum * 0 + gradient, without dampening.
  // With w the weights, g their gradient, r the learning rate, d the weight decay, m the momentum and b the buffer:
  // g' = g + d w, b = m b + g', w = w - r b; with Nesterov w = w - r (g' + m b).
  for (std::size_t i = 0; i < groups().size(); ++i)
    at::_fused_sgd_(groups()[i].parameters, groups()[i].gradients, buffers_of_groups_[i], groups()[i].weight_decay,
                    momentum_, learning_rate, /*dampening=*/0, nesterov_, /*maximize=*/false, /*is_first_step=*/false,
                    /*grad_scale=*/std::nullopt, found);
}

NamedTensors SgdOptimizer::state() const {
  NamedTensors state;
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    state.push_back({"momentum_buffer." + names()[i], buffers_[i]});
  return state;
}

}  // namespace multicard
