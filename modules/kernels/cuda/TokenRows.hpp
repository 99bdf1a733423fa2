#pragma once
/// \file Rows of tokens as the GPU kernels compute them: a group of threads works on one row. Plain C++ where nvcc does
/// not compile it, so that tests can run the same text with groups of threads of the CPU.
///
/// A Group has lane() and size(), and reduce(value, combine), which all its threads call together and which returns the
/// combination of their values to each of them; `combine` is associative and commutative. Values of storage type S
/// (float, c10::Half, c10::BFloat16) are computed in float. kWidth values are read and written at a time: sizes are
/// multiples of it, and unless it is 1 pointers are aligned to 16 bytes.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#ifdef __CUDACC__
#define MULTICARD_DEVICE __device__ __forceinline__
#define MULTICARD_UNROLL _Pragma("unroll")
#else
#define MULTICARD_DEVICE inline
#define MULTICARD_UNROLL
#endif

namespace multicard::rows {

#ifdef __CUDACC__
using Words = uint4;
// As one instruction: nvcc takes ordinary stores of 16 bytes apart.
MULTICARD_DEVICE void store_words(Words* to, const Words& words) {
  __stwb(to, words);
}
#else
using Words = std::array<std::uint32_t, 4>;
MULTICARD_DEVICE void store_words(Words* to, const Words& words) {
  *to = words;
}
#endif

/// Packs that a thread keeps of a row between two passes; what is beyond is read again.
constexpr int kKept = 2;

constexpr int kAlignment = 16;  // bytes

template <typename S, int kWidth>
struct alignas(sizeof(S) * kWidth < kAlignment ? sizeof(S) * kWidth : kAlignment) Pack {
  S values[kWidth];
};

template <int kWidth, typename S>
MULTICARD_DEVICE Pack<S, kWidth> load(const S* from) {
  return *reinterpret_cast<const Pack<S, kWidth>*>(from);
}

template <int kWidth, typename S>
MULTICARD_DEVICE void store(S* to, const Pack<S, kWidth>& pack) {
  if constexpr (kWidth == 1) {
    *to = pack.values[0];
  } else {
    static_assert(sizeof(pack) == sizeof(Words));
    Words words;
    std::memcpy(&words, &pack, sizeof(words));
    store_words(reinterpret_cast<Words*>(to), words);
  }
}

/// Calls body(at, slot) for the packs of this thread, at the values `at` and following. The first kKept have slots of
/// their own, all others kKept.
template <int kWidth, typename Group, typename Body>
MULTICARD_DEVICE void for_packs(const Group& group, std::int64_t size, const Body& body) {
  const std::int64_t step = static_cast<std::int64_t>(group.size()) * kWidth;
  std::int64_t at = static_cast<std::int64_t>(group.lane()) * kWidth;
  MULTICARD_UNROLL
  for (int slot = 0; slot < kKept; ++slot, at += step)
    if (at < size) body(at, slot);
  for (; at < size; at += step)
    body(at, kKept);
}

struct Sum {
  MULTICARD_DEVICE float operator()(float a, float b) const { return a + b; }
};

constexpr float kLowest = std::numeric_limits<float>::lowest();

/// sum(exp(values - max)) beside max.
struct Exponentials {
  float max, sum;
};

struct MergeExponentials {
  MULTICARD_DEVICE Exponentials operator()(const Exponentials& a, const Exponentials& b) const {
    const float max = a.max > b.max ? a.max : b.max;
    return {max, a.sum * std::exp(a.max - max) + b.sum * std::exp(b.max - max)};
  }
};

/// A row of RMSNorm. `delta` may be null: then the stream is x and is not written. P is the type of the weight.
template <typename S, typename P>
struct NormRow {
  const S *x, *delta;
  const P* weight;
  std::int64_t size;
  float epsilon;
  S *stream, *normed;
  float* scale;
};

template <int kWidth, typename S, typename P, typename Group>
MULTICARD_DEVICE void add_norm(const Group& group, const NormRow<S, P>& row) {
  Pack<S, kWidth> kept[kKept];
  float squares = 0;
  for_packs<kWidth>(group, row.size, [&](std::int64_t at, int slot) {
    Pack<S, kWidth> stream = load<kWidth>(row.x + at);
    if (row.delta != nullptr) {
      const Pack<S, kWidth> delta = load<kWidth>(row.delta + at);
      MULTICARD_UNROLL
      for (int i = 0; i < kWidth; ++i)
        stream.values[i] = static_cast<S>(static_cast<float>(stream.values[i]) + static_cast<float>(delta.values[i]));
      store<kWidth>(row.stream + at, stream);
    }
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      const float value = static_cast<float>(stream.values[i]);
      squares += value * value;
    }
    if (slot < kKept) kept[slot] = stream;
  });
  const float scale = 1.0F / std::sqrt(group.reduce(squares, Sum()) / static_cast<float>(row.size) + row.epsilon);
  const S* const again = row.delta != nullptr ? row.stream : row.x;
  for_packs<kWidth>(group, row.size, [&](std::int64_t at, int slot) {
    const Pack<S, kWidth> stream = slot < kKept ? kept[slot] : load<kWidth>(again + at);
    const Pack<P, kWidth> weight = load<kWidth>(row.weight + at);
    Pack<S, kWidth> normed;
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i)
      normed.values[i] =
          static_cast<S>(static_cast<float>(stream.values[i]) * scale * static_cast<float>(weight.values[i]));
    store<kWidth>(row.normed + at, normed);
  });
  if (group.lane() == 0) *row.scale = scale;
}

/// A row of its gradient; `dstream` may be null.
template <typename S, typename P>
struct NormGradientRow {
  const S *dnormed, *dstream, *stream;
  const P* weight;
  float scale;
  std::int64_t size;
  S* dx;
};

template <int kWidth, typename S, typename P, typename Group>
MULTICARD_DEVICE void norm_gradient(const Group& group, const NormGradientRow<S, P>& row) {
  Pack<S, kWidth> kept_stream[kKept], kept_dnormed[kKept];
  const auto weighted = [&](const Pack<S, kWidth>& dnormed, const Pack<P, kWidth>& weight, int i) {
    return static_cast<float>(dnormed.values[i]) * static_cast<float>(weight.values[i]);
  };
  float products = 0;
  for_packs<kWidth>(group, row.size, [&](std::int64_t at, int slot) {
    const Pack<S, kWidth> stream = load<kWidth>(row.stream + at), dnormed = load<kWidth>(row.dnormed + at);
    const Pack<P, kWidth> weight = load<kWidth>(row.weight + at);
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i)
      products += weighted(dnormed, weight, i) * static_cast<float>(stream.values[i]) * row.scale;
    if (slot < kKept) {
      kept_stream[slot] = stream;
      kept_dnormed[slot] = dnormed;
    }
  });
  const float mean = group.reduce(products, Sum()) / static_cast<float>(row.size);
  for_packs<kWidth>(group, row.size, [&](std::int64_t at, int slot) {
    const Pack<S, kWidth> stream = slot < kKept ? kept_stream[slot] : load<kWidth>(row.stream + at);
    const Pack<S, kWidth> dnormed = slot < kKept ? kept_dnormed[slot] : load<kWidth>(row.dnormed + at);
    const Pack<P, kWidth> weight = load<kWidth>(row.weight + at);
    float values[kWidth];
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i)
      values[i] = row.scale * (weighted(dnormed, weight, i) - static_cast<float>(stream.values[i]) * row.scale * mean);
    if (row.dstream != nullptr) {
      const Pack<S, kWidth> dstream = load<kWidth>(row.dstream + at);
      MULTICARD_UNROLL
      for (int i = 0; i < kWidth; ++i)
        values[i] += static_cast<float>(dstream.values[i]);
    }
    Pack<S, kWidth> dx;
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i)
      dx.values[i] = static_cast<S>(values[i]);
    store<kWidth>(row.dx + at, dx);
  });
}

/// The sum over `num_rows` rows of dnormed * stream * scale for the kWidth columns that begin at the pointers.
template <int kWidth, typename S>
MULTICARD_DEVICE void norm_weight_gradient(const S* dnormed, const S* stream, const float* scale, std::int64_t num_rows,
                                           std::int64_t size, float* dweight) {
  float sums[kWidth] = {};
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const Pack<S, kWidth> gradient = load<kWidth>(dnormed + row * size), value = load<kWidth>(stream + row * size);
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i)
      sums[i] += static_cast<float>(gradient.values[i]) * static_cast<float>(value.values[i]) * scale[row];
  }
  MULTICARD_UNROLL
  for (int i = 0; i < kWidth; ++i)
    dweight[i] = sums[i];
}

MULTICARD_DEVICE float sigmoid(float x) {
  return 1.0F / (1.0F + std::exp(-x));
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
      result.values[i] = static_cast<S>(value * sigmoid(value) * static_cast<float>(u.values[i]));
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
