#pragma once
/// \file Rows of tokens apart from their norms: gates, rotations, dropout and the softmax of logits, for groups of
/// threads as in RowPacks.hpp.

#include <cmath>
#include <limits>

#include "kernels/cuda/RowPacks.hpp"

namespace multicard::rows {

MULTICARD_DEVICE float sigmoid(float x) {
  return 1.0F / (1.0F + std::exp(-x));
}

/// Rounded as PyTorch's: one division.
MULTICARD_DEVICE float silu(float x) {
  return x / (1.0F + std::exp(-x));
}

/// y = silu(gate) * up of one row [gate, up] of 2 size values.
template <int kWidth, typename S, typename Group>
MULTICARD_DEVICE void swiglu(const Group& group, const S* gate_and_up, std::int64_t size, S* y) {
  for_packs<kWidth>(group, size, [&](std::int64_t at, int) {
    const Pack<S, kWidth> g = load<kWidth>(gate_and_up + at), u = load<kWidth>(gate_and_up + size + at);
    Pack<S, kWidth> result;
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      const float value = static_cast<float>(g.values[i]);
      result.values[i] = static_cast<S>(silu(value) * static_cast<float>(u.values[i]));
    }
    store<kWidth>(y + at, result);
  });
}

template <int kWidth, typename S, typename Group>
MULTICARD_DEVICE void swiglu_gradient(const Group& group, const S* dy, const S* gate_and_up, std::int64_t size,
                                      S* dgate_and_up) {
  for_packs<kWidth>(group, size, [&](std::int64_t at, int) {
    const Pack<S, kWidth> d = load<kWidth>(dy + at);
    const Pack<S, kWidth> g = load<kWidth>(gate_and_up + at), u = load<kWidth>(gate_and_up + size + at);
    Pack<S, kWidth> dgate, dup;
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      const float gradient = static_cast<float>(d.values[i]), value = static_cast<float>(g.values[i]);
      const float open = sigmoid(value);
      dgate.values[i] =
          static_cast<S>(gradient * static_cast<float>(u.values[i]) * open * (1.0F + value * (1.0F - open)));
      dup.values[i] = static_cast<S>(gradient * value * open);
    }
    store<kWidth>(dgate_and_up + at, dgate);
    store<kWidth>(dgate_and_up + size + at, dup);
  });
}

/// Rotates the pairs (i, i + dim / 2) of `heads` heads of one token in place, by the angles of `cos` and direction *
/// `sin` [dim / 2].
template <int kWidth, typename S, typename Group>
MULTICARD_DEVICE void rope(const Group& group, S* x, std::int64_t heads, std::int64_t dim, const float* cos,
                           const float* sin, float direction) {
  const std::int64_t half = dim / 2;
  for_packs<kWidth>(group, heads * half, [&](std::int64_t pair, int) {
    const std::int64_t at = pair % half;
    S* const first = x + pair / half * dim + at;
    const Pack<S, kWidth> a = load<kWidth>(first), b = load<kWidth>(first + half);
    const Pack<float, kWidth> cosines = load<kWidth>(cos + at), sines = load<kWidth>(sin + at);
    Pack<S, kWidth> new_a, new_b;
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      const float c = cosines.values[i], s = direction * sines.values[i];
      const float one = static_cast<float>(a.values[i]), other = static_cast<float>(b.values[i]);
      new_a.values[i] = static_cast<S>(one * c - other * s);
      new_b.values[i] = static_cast<S>(other * c + one * s);
    }
    store<kWidth>(first, new_a);
    store<kWidth>(first + half, new_b);
  });
}

/// Zeroes the values whose bits are below `threshold` and multiplies the others by `factor`. The bits are a function of
/// `key` and the value's index, those of seeded_dropout().
struct Dropout {
  std::uint64_t key, threshold;
  float factor;
};

MULTICARD_DEVICE std::uint64_t dropout_bits(std::uint64_t key, std::uint64_t index) {
  std::uint64_t x = key + index * 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return (x ^ (x >> 31)) & 0x7FFFFFFFU;
}

/// The values x[at] and following.
template <int kWidth, typename S>
MULTICARD_DEVICE void drop(const Dropout& dropout, const S* x, std::int64_t at, S* y) {
  const Pack<S, kWidth> values = load<kWidth>(x + at);
  Pack<S, kWidth> result;
  MULTICARD_UNROLL
  for (int i = 0; i < kWidth; ++i) {
    const bool is_kept = dropout_bits(dropout.key, static_cast<std::uint64_t>(at + i)) >= dropout.threshold;
    result.values[i] = static_cast<S>(static_cast<float>(values.values[i]) * (is_kept ? dropout.factor : 0.0F));
  }
  store<kWidth>(y + at, result);
}

constexpr float kLowest = std::numeric_limits<float>::lowest();

/// sum(exp(values - max)) and max.
struct Exponentials {
  float max, sum;
};

struct MergeExponentials {
  MULTICARD_DEVICE Exponentials operator()(const Exponentials& a, const Exponentials& b) const {
    const float max = a.max > b.max ? a.max : b.max;
    return {max, a.sum * std::exp(a.max - max) + b.sum * std::exp(b.max - max)};
  }
};

/// What is computed of logits: the loss alone, or also its gradient, which replaces them.
enum class Softmax { loss, gradient };

/// Returns to every thread log(sum(exp(logits))) - logits[target] of one row; its gradient is softmax(logits) minus one
/// at the target.
template <int kWidth, typename S, typename Group>
MULTICARD_DEVICE float softmax_loss(const Group& group, S* logits, std::int64_t size, std::int64_t target,
                                    Softmax softmax) {
  Exponentials own{kLowest, 0.0F};
  for_packs<kWidth>(group, size, [&](std::int64_t at, int) {
    const Pack<S, kWidth> pack = load<kWidth>(logits + at);
    float max = own.max;
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      const float value = static_cast<float>(pack.values[i]);
      if (value > max) max = value;
    }
    own.sum *= std::exp(own.max - max);
    own.max = max;
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i)
      own.sum += std::exp(static_cast<float>(pack.values[i]) - max);
  });
  const float right = static_cast<float>(logits[target]);  // all threads read it before any can write
  const Exponentials all = group.reduce(own, MergeExponentials());
  const float loss = std::log(all.sum) + (all.max - right), scale = 1.0F / all.sum;
  if (softmax == Softmax::loss) return loss;
  for_packs<kWidth>(group, size, [&](std::int64_t at, int) {
    const Pack<S, kWidth> pack = load<kWidth>(logits + at);
    Pack<S, kWidth> result;
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i)
      result.values[i] = static_cast<S>(std::exp(static_cast<float>(pack.values[i]) - all.max) * scale -
                                        (at + i == target ? 1.0F : 0.0F));
    store<kWidth>(logits + at, result);
  });
  return loss;
}

}  // namespace multicard::rows
