#include "nn/language/Rope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>

#include "kernels/TokenPath.hpp"
#include "kernels/cpu/TokenRows.hpp"

namespace multicard {
namespace {

// In float32 and in this order of operations, as transformers computes them.
// Llama 3.1: wavelengths above original / low_freq_factor are stretched by the factor, those below original /
// high_freq_factor stay, and between the two frequencies are blended linearly in original / wavelength.
float stretched_as_llama3(float frequency, const RopeScaling& scaling) {
  const auto factor = static_cast<float>(scaling.factor);
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

/// The ramp of YaRN (Peng et al. 2023, arXiv 2309.00071) over the pairs of a head: at `first` and before frequencies
/// stay, from `last` on they are divided by the factor.
struct Ramp {
  double first = 0, last = 0;

  Ramp(const LlamaConfig& config, const RopeScaling& scaling) {
    const auto size = static_cast<double>(config.head_dim);
    // The pair whose wavelength turns that often within the original positions L, from theta^(2i / d) = L / (2 pi
    // turns).
    const auto place_of = [&](double turns) {
      const double length = static_cast<double>(scaling.original_max_positions) / (turns * 2 * std::numbers::pi);
      return size * std::log(length) / (2 * std::log(config.rope_theta));
    };
    first = place_of(scaling.beta_fast);
    last = place_of(scaling.beta_slow);
    if (scaling.truncates) {
      first = std::floor(first);
      last = std::ceil(last);
    }
    first = std::max(first, 0.0);
    last = std::min(last, size - 1);
    // As transformers, against a division by zero.
    if (first == last) last += 0.001;
  }
  float operator()(std::int64_t pair) const {
    const auto at = (static_cast<float>(pair) - static_cast<float>(first)) / static_cast<float>(last - first);
    return std::clamp(at, 0.0F, 1.0F);
  }
};

void stretch(std::span<float> frequencies, const LlamaConfig& config) {
  const RopeScaling& scaling = config.rope_scaling;
  const auto factor = static_cast<float>(scaling.factor);
  switch (scaling.kind) {
    case RopeScaling::Kind::none:
      return;
    // Position interpolation (Chen et al. 2023, arXiv 2306.15595).
    case RopeScaling::Kind::linear:
      for (float& frequency : frequencies)
        frequency /= factor;
      return;
    case RopeScaling::Kind::llama3:
      for (float& frequency : frequencies)
        frequency = stretched_as_llama3(frequency, scaling);
      return;
    case RopeScaling::Kind::yarn:
      break;
  }
  const Ramp ramp(config, scaling);
  for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
    const float kept = 1 - ramp(static_cast<std::int64_t>(pair));
    frequencies[pair] = frequencies[pair] / factor * (1 - kept) + frequencies[pair] * kept;
  }
}

// (a, b) becomes (a cos - b sin, b cos + a sin). Where x has the table's type, the wide halves are views of x: the
// second half is written while the first still has its old values, which come last.
void rotate_by_aten(const at::Tensor& x, const RopeTable& table, Rotation rotation) {
  const std::int64_t half = x.size(2) / 2;
  const at::ScalarType dtype = table.cos.scalar_type();
  const at::Tensor cos = table.cos.unsqueeze(1), sin = table.sin.unsqueeze(1);
  const at::Tensor signed_sin = rotation == Rotation::forward ? sin : -sin;
  const at::Tensor first = x.narrow(2, 0, half), second = x.narrow(2, half, half);
  const at::Tensor wide_first = first.to(dtype), wide_second = second.to(dtype);
  const at::Tensor new_first = wide_first * cos - wide_second * signed_sin;
  second.copy_(wide_second * cos + wide_first * signed_sin);
  first.copy_(new_first);
}

void rotate_by_rows(const at::Tensor& x, const RopeTable& table, Rotation rotation) {
  const std::int64_t stride = x.stride(0), half = x.size(2) / 2;
  with_storage(x.scalar_type(), [&]<typename S>() {
    using C = Compute<S>;
    for_token_rows(x.size(0), [&](std::int64_t first, std::int64_t rows) {
      token_kernels<S>().rope(mutable_values_of<S>(x) + first * stride, rows, stride, x.size(1), x.size(2),
                              values_of<C>(table.cos) + first * half, values_of<C>(table.sin) + first * half,
                              C(rotation == Rotation::forward ? 1 : -1));
    });
  });
}

}  // namespace

at::Tensor rope_frequencies(const LlamaConfig& config) {
  const at::Tensor exponents =
      at::arange(0, config.head_dim, 2, at::TensorOptions().dtype(at::kFloat)) / static_cast<double>(config.head_dim);
  at::Tensor frequencies = 1.0 / at::pow(config.rope_theta, exponents);
  stretch({frequencies.mutable_data_ptr<float>(), static_cast<std::size_t>(frequencies.numel())}, config);
  return frequencies;
}

RopeTable rope_table(const LlamaConfig& config, std::int64_t count, at::ScalarType dtype, at::Device device) {
  const at::Tensor positions = at::arange(count, at::TensorOptions().dtype(at::kFloat));
  // Products in float32 lose the last digits of large angles. Models were trained with that: exact ones would be
  // others.
  const at::Tensor angles = positions.unsqueeze(1) * rope_frequencies(config).unsqueeze(0);
  const double factor = config.rope_scaling.attention_factor;
  return {(angles.cos() * factor).to(device, dtype), (angles.sin() * factor).to(device, dtype)};
}

// At least twice as long as asked for, so that a text that grows token by token does not make a table for each.
void GrowingRopeTable::reach(std::int64_t end, at::ScalarType compute) {
  const at::ScalarType dtype = compute == at::kDouble ? at::kDouble : at::kFloat;
  if (!table_.cos.defined() || table_.cos.size(0) < end || table_.cos.scalar_type() != dtype)
    table_ = rope_table(config_, std::max<std::int64_t>(2 * end, 512), dtype, device_);
}

void rotate(const at::Tensor& x, const RopeTable& table, Rotation rotation, Kernels kernels) {
  switch (token_path(x, kernels)) {
    case TokenPath::cpu:
      return rotate_by_rows(x, table, rotation);
    case TokenPath::cuda:
      return cuda_rope(x, table.cos, table.sin, rotation == Rotation::forward ? 1 : -1);
    case TokenPath::aten:
      return rotate_by_aten(x, table, rotation);
  }
}

}  // namespace multicard
