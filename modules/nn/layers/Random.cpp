#include "nn/layers/Random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>

#include "kernels/cpu/TensorValues.hpp"
#include "kernels/cpu/TokenKernels.hpp"
#include "kernels/cuda/CudaTokens.hpp"

namespace multicard {
namespace {

// The finaliser of splitmix64 (Steele, Lea and Flood 2014).
constexpr std::uint64_t kIncrement = 0x9E3779B97F4A7C15U, kMultiplier1 = 0xBF58476D1CE4E5B9U,
                        kMultiplier2 = 0x94D049BB133111EBU;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * kMultiplier1;
  x = (x ^ (x >> 27)) * kMultiplier2;
  return x ^ (x >> 31);
}

// In (0, 1].
// The 53 upper bits, plus one: 0 is left out, because Box-Muller takes the logarithm.
double uniform(std::uint64_t key, std::uint64_t index) {
  return (static_cast<double>(mixed(key + index * kIncrement) >> 11) + 1.0) * 0x1.0p-53;
}

std::int64_t as_signed(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

// The same finaliser on int64 tensors, whose products wrap; their right shift is arithmetic, hence the mask.
at::Tensor xor_shifted(const at::Tensor& x, int bits) {
  return x ^ (x.__rshift__(bits) & as_signed(~std::uint64_t{0} >> bits));
}

at::Tensor mixed(const at::Tensor& x) {
  const at::Tensor once = xor_shifted(x, 30) * as_signed(kMultiplier1);
  return xor_shifted(xor_shifted(once, 27) * as_signed(kMultiplier2), 31);
}

// In (0, 1], float64.
at::Tensor uniforms_of(const at::Tensor& keys) {
  const at::Tensor upper = mixed(keys).__rshift__(11) & as_signed(~std::uint64_t{0} >> 11);
  return (upper.to(at::kDouble) + 1.0) * 0x1.0p-53;
}

constexpr int kDropoutBits = 31;

std::uint64_t dropout_key(std::uint64_t seed) {
  return mixed(seed + kIncrement);
}

// Bits below it have `probability`.
// Bits of 31 places are compared as whole numbers: every device and type drops the same elements.
std::int64_t dropout_threshold(double probability) {
  return std::llround(std::ldexp(probability, kDropoutBits));
}

// Zero with `probability`, 1 / (1 - probability) otherwise.
at::Tensor dropout_factors(at::IntArrayRef sizes, const at::TensorOptions& options, double probability,
                           std::uint64_t seed) {
  const at::Tensor index = at::arange(c10::multiply_integers(sizes), options.dtype(at::kLong)).view(sizes);
  const at::Tensor bits = mixed(index * as_signed(kIncrement) + as_signed(dropout_key(seed))) &
                          as_signed((std::uint64_t{1} << kDropoutBits) - 1);
  const at::Tensor kept = bits >= dropout_threshold(probability);
  return kept.to(options.dtype()).div(1.0 - probability);
}

at::Tensor dropped_by_kernel(const at::Tensor& x, std::uint64_t key, std::uint64_t threshold, double factor) {
  constexpr std::int64_t kFewest = 1 << 14;
  at::Tensor y = at::empty_like(x);
  with_storage(x.scalar_type(), [&]<typename S>() {
    at::parallel_for(0, x.numel(), kFewest, [&](std::int64_t first, std::int64_t end) {
      token_kernels<S>().drop(values_of<S>(x) + first, end - first, static_cast<std::uint64_t>(first), key, threshold,
                              static_cast<Compute<S>>(factor), mutable_values_of<S>(y) + first);
    });
  });
  return y;
}

}  // namespace

// Offset basis and prime of FNV-1a with 64 bits.
std::uint64_t stream_of_name(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char character : name)
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3U;
  return hash;
}

// Mixed twice: with a single mixing of seed + stream, stream 1 of seed 1 would be stream 0 of seed 2.
std::uint64_t seed_of_stream(std::uint64_t seed, std::uint64_t stream) {
  return mixed(mixed(seed + kIncrement) + (stream + 1) * kIncrement);
}

at::Tensor normal_values(at::IntArrayRef sizes, double deviation, std::uint64_t seed, std::uint64_t stream) {
  at::Tensor values = at::empty(sizes, at::TensorOptions().dtype(at::kFloat));
  const std::uint64_t key = seed_of_stream(seed, stream);
  auto* out = values.data_ptr<float>();
  // Two values of each pair of uniform ones (Box and Muller 1958).
  for (std::int64_t i = 0; i < values.numel(); i += 2) {
    const auto index = static_cast<std::uint64_t>(i);
    const double radius = deviation * std::sqrt(-2.0 * std::log(uniform(key, index)));
    const double angle = 2.0 * std::numbers::pi * uniform(key, index + 1);
    out[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < values.numel()) out[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return values;
}

void fill_normal(at::Tensor& out, double deviation, std::uint64_t seed, std::uint64_t stream) {
  if (out.is_cpu()) {
    out.copy_(normal_values(out.sizes(), deviation, seed, stream));
    return;
  }
  constexpr std::int64_t kPairs = std::int64_t{1} << 24;  // at a time: int64 and double values
  at::Tensor flat = out.view({-1});
  for (std::int64_t first = 0; first < flat.numel(); first += 2 * kPairs) {
    const std::int64_t count = std::min(2 * kPairs, flat.numel() - first), pairs = (count + 1) / 2;
    const at::Tensor even = at::arange(first, first + 2 * pairs, 2, out.options().dtype(at::kLong));
    const auto key = as_signed(seed_of_stream(seed, stream));
    const auto uniforms = [&](const at::Tensor& index) { return uniforms_of(index * as_signed(kIncrement) + key); };
    const at::Tensor radius = (uniforms(even).log() * -2.0).sqrt() * deviation;
    const at::Tensor angle = uniforms(even + 1) * (2.0 * std::numbers::pi);
    const at::Tensor values = at::stack({radius * angle.cos(), radius * angle.sin()}, 1).view({-1});
    flat.narrow(0, first, count).copy_(values.narrow(0, 0, count));
  }
}

at::Tensor uniform_rows(const at::Tensor& keys, std::int64_t columns) {
  const at::Tensor steps = at::arange(columns, keys.options()) * as_signed(kIncrement);
  return uniforms_of(keys.unsqueeze(1) + steps) * 2.0 - 1.0;
}

double uniform_value(std::uint64_t seed, std::uint64_t index) {
  return uniform(mixed(seed + kIncrement), index);
}

at::Tensor uniform_values(at::IntArrayRef sizes, double bound, std::uint64_t seed, std::uint64_t stream) {
  at::Tensor values = at::empty(sizes, at::TensorOptions().dtype(at::kFloat));
  const std::uint64_t key = seed_of_stream(seed, stream);
  auto* out = values.data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i)
    out[i] = static_cast<float>(bound * (2.0 * uniform(key, static_cast<std::uint64_t>(i)) - 1.0));
  return values;
}

// With a graph the mask is a tensor that autograd keeps. Without one (a checkpointed pass, GroupFunction) a kernel
// computes it on the way, from the same function of the index.
at::Tensor seeded_dropout(const at::Tensor& x, double probability, std::uint64_t seed) {
  const bool is_recorded = at::GradMode::is_enabled() && x.requires_grad();
  const bool has_kernel = has_cuda_token_kernels(x) || (x.is_cpu() && at::isFloatingType(x.scalar_type()));
  if (is_recorded || !has_kernel) return x * dropout_factors(x.sizes(), x.options(), probability, seed);
  const double factor =  // as the type holds it
      at::ones({1}, at::TensorOptions().dtype(x.scalar_type())).div(1.0 - probability).item<double>();
  const std::uint64_t key = dropout_key(seed), threshold = static_cast<std::uint64_t>(dropout_threshold(probability));
  return x.is_cpu() ? dropped_by_kernel(x.contiguous(), key, threshold, factor)
                    : cuda_dropout(x.contiguous(), key, threshold, factor);
}

at::Tensor seeded_row_dropout(const at::Tensor& x_NCHW, double probability, std::uint64_t seed) {
  return x_NCHW * dropout_factors({x_NCHW.size(0), 1, 1, 1}, x_NCHW.options(), probability, seed);
}

}  // namespace multicard
