#include "train/Optimizer.hpp"

#include <stdexcept>
#include <tuple>

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

void check_match(const UpdatedTensor& one) {
  const auto& [values, gradient] = std::tie(one.values, one.gradient);
  // The fused kernels walk the memory of all four tensors side by side.
  if (values.sizes() != gradient.sizes() || values.strides() != gradient.strides() ||
      values.scalar_type() != gradient.scalar_type() || values.device() != gradient.device())
    throw std::logic_error("the gradient of " + one.name + " has another shape, layout, type or device");
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

std::vector<UpdatedTensor> updated_tensors(const ParameterGroups& parameters,
                                           const std::vector<at::Tensor>& gradients) {
  const NamedTensors& named = parameters.parameters();
  if (named.size() != gradients.size()) throw std::logic_error("the optimizer needs one gradient for each parameter");
  std::vector<UpdatedTensor> updated;
  for (std::size_t i = 0; i < named.size(); ++i)
    updated.push_back({named[i].name, named[i].tensor.detach(), gradients[i], true, named[i].tensor.numel()});
  for (const ParameterGroup& group : parameters.groups())
    for (const std::size_t i : group.members)
      updated[i].decays = group.decays;
  return updated;
}

Optimizer::Optimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated) {
  for (std::size_t i = 0; i < updated.size(); ++i) {
    const UpdatedTensor& one = updated[i];
    check_match(one);
    names_.push_back(one.name);
    parameters_.push_back(one.values);
    gradients_.push_back(one.gradient);
    Group& group = group_for(one.values.scalar_type(), one.decays ? options.weight_decay : 0);
    group.members.push_back(i);
    group.parameters.push_back(one.values);
    group.gradients.push_back(one.gradient);
  }
}

Optimizer::Group& Optimizer::group_for(at::ScalarType dtype, double weight_decay) {
  for (Group& group : groups_)
    if (group.weight_decay == weight_decay && group.parameters.front().scalar_type() == dtype) return group;
  return groups_.emplace_back(Group{weight_decay, {}, {}, {}});
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

at::Tensor Optimizer::gradient_norms() const {
  const at::NoGradGuard no_grad;
  return at::stack(at::_foreach_norm(gradients_, 2, at::kDouble));
}

void Optimizer::clip(const at::Tensor& norm, double max_norm) {
  const at::NoGradGuard no_grad;
  // Always multiplied, by 1 where nothing is to be clipped: a branch would wait for the device. A norm that is NaN
  // makes all gradients NaN, as torch does; the loss scaler or the trainer finds it.
  const at::Tensor factor = norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1);
  scale_by(factor, gradients_);
}

at::Tensor total_norm(const at::Tensor& norms) {
  // In float64: squares of float32 sums of a model of billions of values would lose digits, those of large gradients
  // overflow.
  return at::linalg_vector_norm(norms);
}

Decay decay_of(const OptimizerOptions& options) {
  return options.decay_norms ? Decay::all : Decay::matrices;
}

std::int64_t optimizer_bytes(const OptimizerOptions& options, const NamedTensors& parameters) {
  const bool counts_steps = options.name != OptimizerName::sgd;
  std::int64_t bytes = counts_steps ? std::int64_t{sizeof(float)} : 0;
  for (const NamedTensor& entry : parameters)
    bytes += state_bytes(options, entry.tensor);
  return bytes;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated) {
  switch (options.name) {
    case OptimizerName::adamw:
      return std::make_unique<AdamWOptimizer>(options, updated);
    case OptimizerName::adamw8bit:
      return std::make_unique<Adamw8bitOptimizer>(options, updated);
    case OptimizerName::sgd:
      return std::make_unique<SgdOptimizer>(options, updated);
  }
  throw std::logic_error("an optimizer without a class");
}

}  // namespace multicard
