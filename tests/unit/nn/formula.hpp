#pragma once
// Weights, images and labels by the formula of tests/data/oracles/make_networks.py.

#include <cmath>
#include <cstdint>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include "nn/vision/Network.hpp"

namespace multicard::test {

/// In [-1, 1), float64.
inline at::Tensor formula_values(std::uint64_t position, at::IntArrayRef sizes) {
  at::Tensor values = at::empty(sizes, at::TensorOptions().dtype(at::kDouble));
  auto* out = values.mutable_data_ptr<double>();
  for (std::int64_t e = 0; e < values.numel(); ++e) {
    std::uint64_t x = (position << 40) + static_cast<std::uint64_t>(e) + (std::uint64_t{1} << 63);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    x ^= x >> 31;
    out[e] = 2.0 * (static_cast<double>(x >> 11) * 0x1.0p-53) - 1.0;
  }
  return values;
}

/// Fills parameters and running statistics, in the dtype and layout they have.
inline void fill_by_formula(const Network& network) {
  const at::NoGradGuard no_grad;
  for (std::size_t position = 0; position < network.state().size(); ++position) {
    const std::string& name = network.state()[position].name;
    at::Tensor tensor = network.state()[position].tensor;
    if (name.ends_with("num_batches_tracked")) continue;
    const at::Tensor u = formula_values(position, tensor.sizes());
    if (tensor.dim() > 1)
      tensor.copy_(u * std::sqrt(6.0 * static_cast<double>(tensor.size(0)) / static_cast<double>(tensor.numel())));
    else
      tensor.copy_(name.ends_with("weight") || name.ends_with("running_var") ? 1.0 + u / 2 : u / 10);
  }
}

inline constexpr std::int64_t kFormulaRows = 4, kFormulaClasses = 10;

inline at::Tensor formula_images() {
  return formula_values(std::uint64_t{1} << 20, {kFormulaRows, 3, 48, 40});
}

inline at::Tensor formula_labels() {
  return (at::arange(kFormulaRows, at::TensorOptions().dtype(at::kLong)) * 7 + 3) % kFormulaClasses;
}

}  // namespace multicard::test
