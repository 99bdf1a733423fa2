#include "train/Optimizer.hpp"

#include <stdexcept>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "train/AdamWOptimizer.hpp"
#include "train/Adamw8bitOptimizer.hpp"
#include "train/SgdOptimizer.hpp"

namespace multicard {

namespace {

void check_match(const NamedTensor& parameter, const at::Tensor& gradient) {
  const at::Tensor& tensor = parameter.tensor;
  // The fused kernels walk the memory of all four tensors side by side.
  if (tensor.sizes() != gradient.sizes() || tensor.strides() != gradient.strides() ||
      tensor.scalar_type() != gradient.scalar_type() || tensor.device() != gradient.device())
    throw std::logic_error("the gradient of " + parameter.name + " has another shape, layout, type or device");
}

/// \param factor 0-dim float64
void scale_by(const at::Tensor& factor, const std::vector<at::Tensor>& gradients) {
  const at::ScalarType type = gradients.front().scalar_type();
  if (type != at::kBFloat16) return at::_foreach_mul_(gradients, factor.to(type));
  // A 0-dim factor would be rounded to their type first; one with dimensions makes the products float32.
  const at::Tensor exact = factor.to(at::kFloat);
  for (const at::Tensor& gradient : gradients)
    gradient.mul_(exact.view(std::vector<std::int64_t>(static_cast<std::size_t>(gradient.dim()), 1)));
}

/// Of the moments of one parameter.
std::int64_t state_bytes(const OptimizerOptions& options, const at::Tensor& parameter) {
  const auto bytes = static_cast<std::int64_t>(parameter.nbytes());
  switch (options.name) {
    case OptimizerName::adamw:
      return 2 * bytes;
    case OptimizerName::adamw8bit:
      return Adamw8bitOptimizer::state_bytes(parameter.numel());
    case OptimizerName::sgd:
      return options.momentum > 0 ? bytes : 0;
  }
  throw std::logic_error("an optimizer without a class");
}

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, const NamedTensors& parameters, std::vector<at::Tensor> gradients)
    : gradients_(std::move(gradients)) {
  if (parameters.empty() || parameters.size() != gradients_.size())
    throw std::logic_error("the optimizer needs parameters and one gradient for each");
  Group decaying, bare;
  decaying.weight_decay = options.weight_decay;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    check_match(parameters[i], gradients_[i]);
    names_.push_back(parameters[i].name);
    parameters_.push_back(parameters[i].tensor.detach());
    // One dimension: weights and biases of norms, and biases of layers.
    Group& group = options.decay_norms || parameters_[i].dim() > 1 ? decaying : bare;
    group.members.push_back(i);
    group.parameters.push_back(parameters_[i]);
    group.gradients.push_back(gradients_[i]);
  }
  for (Group* group : {&decaying, &bare})
    if (!group->members.empty()) groups_.push_back(std::move(*group));
}

std::vector<at::Tensor> Optimizer::zeros_like_parameters() const {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& parameter : parameters_)
    zeros.push_back(at::zeros_like(parameter));
  return zeros;
}

std::vector<at::Tensor> Optimizer::of_group(const Group& group, const std::vector<at::Tensor>& all) {
  std::vector<at::Tensor> part;
  for (const std::size_t i : group.members)
    part.push_back(all[i]);
  return part;
}

at::Tensor Optimizer::gradient_norm_tensor() const {
  const at::NoGradGuard no_grad;
  // The norm of the norms, in float64: squares of float32 sums of a model of billions of values would lose digits,
  // those of large gradients overflow.
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients_, 2, at::kDouble)));
}

at::Tensor Optimizer::clip_tensor(double max_norm) {
  const at::NoGradGuard no_grad;
  at::Tensor norm = gradient_norm_tensor();
  // Always multiplied, by 1 where nothing is to be clipped: a branch would wait for the device. A norm that is NaN
  // makes all gradients NaN, as torch does; the loss scaler or the trainer finds it.
  scale_by(norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1), gradients_);
  return norm;
}

std::int64_t optimizer_bytes(const OptimizerOptions& options, const NamedTensors& parameters) {
  const bool counts_steps = options.name != OptimizerName::sgd;
  std::int64_t bytes = counts_steps ? std::int64_t{sizeof(float)} : 0;
  for (const NamedTensor& entry : parameters)
    bytes += state_bytes(options, entry.tensor);
  return bytes;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const NamedTensors& parameters,
                                          std::vector<at::Tensor> gradients) {
  switch (options.name) {
    case OptimizerName::adamw:
      return std::make_unique<AdamWOptimizer>(options, parameters, std::move(gradients));
    case OptimizerName::adamw8bit:
      return std::make_unique<Adamw8bitOptimizer>(options, parameters, std::move(gradients));
    case OptimizerName::sgd:
      return std::make_unique<SgdOptimizer>(options, parameters, std::move(gradients));
  }
  throw std::logic_error("an optimizer without a class");
}

}  // namespace multicard
