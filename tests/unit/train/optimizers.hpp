#pragma once
/// \file Optimizers of tests, which need neither groups nor norms on the device.

#include "train/Optimizer.hpp"

namespace multicard {

inline std::unique_ptr<Optimizer> optimizer_of(const OptimizerOptions& options, const NamedTensors& parameters,
                                               const std::vector<at::Tensor>& gradients) {
  return make_optimizer(options, updated_tensors(ParameterGroups(parameters, decay_of(options)), gradients));
}

inline double gradient_norm(const Optimizer& optimizer) {
  return total_norm(optimizer.gradient_norms()).item<double>();
}

/// Returns the norm before.
inline double clip(Optimizer& optimizer, double max_norm) {
  const at::Tensor norm = total_norm(optimizer.gradient_norms());
  optimizer.clip(norm, max_norm);
  return norm.item<double>();
}

}  // namespace multicard
