#include "train/Optimizer.hpp"

#include <stdexcept>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace multicard {

namespace {

void check_match(const NamedTensor& parameter, const at::Tensor& gradient) {
  const at::Tensor& tensor = parameter.tensor;
  // The fused kernels walk the memory of all four tensors side by side.
  if (tensor.sizes() != gradient.sizes() || tensor.strides() != gradient.strides() ||
      tensor.scalar_type() != gradient.scalar_type() || tensor.device() != gradient.device())
    throw std::logic_error("the gradient of " + parameter.name + " has another shape, layout, type or device");
}

std::vector<at::Tensor> zeros_beside(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& tensor : tensors)
    zeros.push_back(at::zeros_like(tensor));
  return zeros;
}

/// \param factor 0-dim float64
void scale_by(const at::Tensor& factor, const std::vector<at::Tensor>& gradients) {
  const at::ScalarType type = gradients.front().scalar_type();
  if (type != at::kBFloat16) return at::_foreach_mul_(gradients, factor.to(type));
  // A 0-dim factor would be rounded to their type first; one with dimensions makes the products float32.
  const at::Tensor exact = factor.to(at::kFloat);
  for (at::Tensor gradient : gradients)
    gradient.mul_(exact.view(std::vector<std::int64_t>(static_cast<std::size_t>(gradient.dim()), 1)));
}

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, const NamedTensors& parameters, std::vector<at::Tensor> gradients)
    : options_(options), gradients_(std::move(gradients)) {
  if (parameters.empty() || parameters.size() != gradients_.size())
    throw std::logic_error("the optimizer needs parameters and one gradient for each");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    check_match(parameters[i], gradients_[i]);
    names_.push_back(parameters[i].name);
    parameters_.push_back(parameters[i].tensor.detach());
  }
  const bool adamw = options_.name == "adamw";
  if (adamw || options_.momentum > 0) first_moments_ = zeros_beside(parameters_);
  if (adamw) {
    second_moments_ = zeros_beside(parameters_);
    num_steps_ = at::zeros({}, parameters_.front().options().dtype(at::kFloat));
  }
  make_groups();
}

void Optimizer::make_groups() {
  Group all, bare;
  all.weight_decay = options_.weight_decay;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Group& group = options_.decay_norms || parameters_[i].dim() > 1 ? all : bare;
    group.parameters.push_back(parameters_[i]);
    group.gradients.push_back(gradients_[i]);
    if (!first_moments_.empty()) group.first_moments.push_back(first_moments_[i]);
    if (!second_moments_.empty()) group.second_moments.push_back(second_moments_[i]);
  }
  for (Group* group : {&all, &bare})
    if (!group->parameters.empty()) groups_.push_back(std::move(*group));
}

void Optimizer::step(double learning_rate, const at::Tensor& found_inf) {
  const at::NoGradGuard no_grad;
  const bool adamw = options_.name == "adamw";
  const std::optional<at::Tensor> found = found_inf.defined() ? std::optional(found_inf) : std::nullopt;
  if (adamw) num_steps_.add_(1);
  for (const Group& group : groups_)
    if (adamw)
      step_adamw(group, learning_rate, found);
    else
      step_sgd(group, learning_rate, found);
  if (adamw && found) num_steps_.sub_(*found);
}

void Optimizer::step_sgd(const Group& group, double learning_rate, const std::optional<at::Tensor>& found_inf) {
  // From buffers of zeros the first step needs no case of its own: momentum * 0 + gradient, without dampening.
  at::_fused_sgd_(group.parameters, group.gradients, group.first_moments, group.weight_decay, options_.momentum,
                  learning_rate, /*dampening=*/0, options_.nesterov, /*maximize=*/false, /*is_first_step=*/false,
                  /*grad_scale=*/std::nullopt, found_inf);
}

void Optimizer::step_adamw(const Group& group, double learning_rate, const std::optional<at::Tensor>& found_inf) {
  const std::vector<at::Tensor> num_steps(group.parameters.size(), num_steps_);
  at::_fused_adamw_(group.parameters, group.gradients, group.first_moments, group.second_moments,
                    /*max_exp_avg_sqs=*/{}, num_steps, learning_rate, options_.beta1, options_.beta2,
                    group.weight_decay, options_.eps, /*amsgrad=*/false, /*maximize=*/false,
                    /*grad_scale=*/std::nullopt, found_inf);
}

at::Tensor Optimizer::gradient_norm_tensor() const {
  const at::NoGradGuard no_grad;
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients_, 2, at::kDouble)));
}

at::Tensor Optimizer::clip_tensor(double max_norm) {
  const at::NoGradGuard no_grad;
  const at::Tensor norm = gradient_norm_tensor();
  scale_by(norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1), gradients_);
  return norm;
}

NamedTensors Optimizer::state() const {
  const bool adamw = options_.name == "adamw";
  NamedTensors state;
  for (std::size_t i = 0; i < first_moments_.size(); ++i) {
    state.push_back({(adamw ? "exp_avg." : "momentum_buffer.") + names_[i], first_moments_[i]});
    if (adamw) state.push_back({"exp_avg_sq." + names_[i], second_moments_[i]});
  }
  if (adamw) state.push_back({"step", num_steps_});
  return state;
}

}  // namespace multicard
