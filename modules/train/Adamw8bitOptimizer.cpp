#include "train/Adamw8bitOptimizer.hpp"

#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>

namespace multicard {

namespace {

constexpr std::int64_t kFewestElements = 4096;  ///< of a parameter whose moments have 8 bits

MomentBits bits_for(std::int64_t elements) {
  return elements < kFewestElements ? MomentBits::thirty_two : MomentBits::eight;
}

AdamwFactors factors_of(double beta1, double beta2, double eps, double decay) {
  return {static_cast<float>(beta1),     static_cast<float>(1 - beta1), static_cast<float>(beta2),
          static_cast<float>(1 - beta2), static_cast<float>(eps),       decay};
}

}  // namespace

Adamw8bitOptimizer::Adamw8bitOptimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated)
    : AdamOptimizer(options, updated), maps_(dynamic_maps_on(tensor_options().device())) {
  for (const UpdatedTensor& one : updated) {
    const MomentBits bits = bits_for(one.num_elements);
    first_.push_back(zero_moments(one.values, bits));
    second_.push_back(zero_moments(one.values, bits));
  }
}

at::Tensor Adamw8bitOptimizer::rates(double learning_rate) const {
  // learning rate / (1 - beta1^t) and sqrt(1 - beta2^t), in float64: at the first steps beta^t is nearly 1, and little
  // would be left of the difference in float32.
  const at::Tensor steps = num_steps().to(at::kDouble);
  const at::Tensor rate = at::pow(beta1(), steps).neg_().add_(1).reciprocal_().mul_(learning_rate);
  const at::Tensor correction = at::pow(beta2(), steps).neg_().add_(1).sqrt_();
  return at::stack({rate, correction}).to(at::kFloat);
}

void Adamw8bitOptimizer::step(double learning_rate, const at::Tensor& found_inf) {
  const at::NoGradGuard no_grad;
  num_steps().add_(1);
  AdamwStep step{{}, rates(learning_rate), found_inf, maps_};
  for (const Group& group : groups()) {
    step.factors = factors_of(beta1(), beta2(), eps(), 1 - learning_rate * group.weight_decay);
    // Blocks go over the elements in row-major order, whatever the layout in memory: a state fits a run of any layout.
    std::vector<AdamwTensor> tensors;
    for (std::size_t i = 0; i < group.members.size(); ++i)
      tensors.push_back({group.parameters[i].contiguous(), group.gradients[i].contiguous(), first_[group.members[i]],
                         second_[group.members[i]]});
    adamw_step(tensors, step);
    // Of another layout than row-major a copy was updated, which goes back into the parameter.
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (!tensors[i].values.is_same(group.parameters[i])) group.parameters[i].copy_(tensors[i].values);
  }
  if (found_inf.defined()) num_steps().sub_(found_inf);
}

NamedTensors Adamw8bitOptimizer::state() const {
  NamedTensors state;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    state.push_back({"exp_avg." + names()[i], first_[i].values});
    state.push_back({"exp_avg_sq." + names()[i], second_[i].values});
    if (!first_[i].are_codes()) continue;
    state.push_back({"exp_avg_scale." + names()[i], first_[i].scales});
    state.push_back({"exp_avg_sq_scale." + names()[i], second_[i].scales});
  }
  state.push_back({"step", num_steps()});
  return state;
}

std::int64_t Adamw8bitOptimizer::state_bytes(std::int64_t elements) {
  if (bits_for(elements) == MomentBits::thirty_two) return 2 * 4 * elements;
  // Two moments: a byte for each element, and a float32 scale for each block.
  return 2 * (elements + 4 * ((elements + kMomentBlock - 1) / kMomentBlock));
}

}  // namespace multicard
