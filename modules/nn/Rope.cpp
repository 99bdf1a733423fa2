#include "nn/Rope.hpp"

#include <cmath>
#include <numbers>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>

namespace multicard {
namespace {

// In float32 and in this order of operations, as transformers computes them.
float stretched(float frequency, const RopeScaling& scaling) {
  const auto factor = static_cast<float>(scaling.factor);
  if (scaling.law == RopeScaling::Law::linear) return frequency / factor;
  if (scaling.law == RopeScaling::Law::none) return frequency;
  const auto positions = static_cast<double>(scaling.original_max_positions);
  const auto longest = static_cast<float>(positions / scaling.low_frequency_factor);
  const auto shortest = static_cast<float>(positions / scaling.high_frequency_factor);
  const float wavelength = static_cast<float>(2 * std::numbers::pi) / frequency;
  if (wavelength > longest) return frequency / factor;
  if (wavelength < shortest) return frequency;
  const float smooth = (static_cast<float>(positions) / wavelength - static_cast<float>(scaling.low_frequency_factor)) /
                       static_cast<float>(scaling.high_frequency_factor - scaling.low_frequency_factor);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

}  // namespace

at::Tensor rope_frequencies(const LlamaConfig& config) {
  const at::Tensor exponents =
      at::arange(0, config.head_dim, 2, at::TensorOptions().dtype(at::kFloat)) / static_cast<double>(config.head_dim);
  at::Tensor frequencies = 1.0 / at::pow(config.rope_theta, exponents);
  auto* values = frequencies.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < frequencies.numel(); ++i)
    values[i] = stretched(values[i], config.rope_scaling);
  return frequencies;
}

RopeTable RopeTable::at_positions(const at::Tensor& positions) const {
  return {cos.index_select(0, positions), sin.index_select(0, positions)};
}

RopeTable rope_table(const LlamaConfig& config, std::int64_t count, at::ScalarType dtype, at::Device device) {
  const at::Tensor positions = at::arange(count, at::TensorOptions().dtype(at::kFloat));
  const at::Tensor angles = positions.unsqueeze(1) * rope_frequencies(config).unsqueeze(0);
  return {angles.cos().to(device, dtype), angles.sin().to(device, dtype)};
}

at::Tensor rotate(const at::Tensor& x, const RopeTable& table, Rotation rotation) {
  const std::int64_t half = x.size(2) / 2;
  const at::ScalarType dtype = table.cos.scalar_type();
  const at::Tensor cos = table.cos.unsqueeze(1), sin = table.sin.unsqueeze(1);
  const at::Tensor first = x.narrow(2, 0, half).to(dtype), second = x.narrow(2, half, half).to(dtype);
  const at::Tensor turned = rotation == Rotation::forward ? sin : -sin;
  return at::cat({first * cos - second * turned, second * cos + first * turned}, 2).to(x.scalar_type());
}

}  // namespace multicard
