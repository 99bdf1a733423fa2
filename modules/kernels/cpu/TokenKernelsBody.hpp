#pragma once
// The loops of TokenKernels; see Vectors.hpp for who may include this.

#include "kernels/cpu/RowKernelsBody.hpp"
#include "kernels/cpu/TokenKernels.hpp"

namespace multicard {
namespace {

// The sum over i of term<Lanes>(i), a vector of Lanes values from i on.
template <typename T, typename Term>
MULTICARD_INLINE T sum_of(std::int64_t size, Term term) {
  constexpr int kWide = kWidth<T>;
  typename Vector<T, kWide>::Type sums{};
  std::int64_t i = 0;
  for (; i + kWide <= size; i += kWide)
    sums += term.template operator()<kWide>(i);
  T total = 0;
  for (int k = 0; k < kWide; ++k)
    total += sums[k];
  for (; i < size; ++i)
    total += term.template operator()<1>(i);
  return total;
}

template <typename T>
MULTICARD_INLINE T largest_of(const T* values, std::int64_t size) {
  constexpr int kWide = kWidth<T>;
  using V = typename Vector<T, kWide>::Type;
  T largest = values[0];
  std::int64_t i = 0;
  if (size >= kWide) {
    V most = load<V>(values);
    for (i = kWide; i + kWide <= size; i += kWide) {
      const V value = load<V>(values + i);
      most = value > most ? value : most;
    }
    for (int k = 0; k < kWide; ++k)
      largest = most[k] > largest ? most[k] : largest;
  }
  for (; i < size; ++i)
    largest = values[i] > largest ? values[i] : largest;
  return largest;
}

// exp(x), to about two units in the last place: 2^n times a polynomial (coefficients of the Cephes library).
template <typename V>
MULTICARD_INLINE V exponential(V x, float) {
  using Whole = typename Bits<V>::Whole;
  const V zero{}, least = zero - 87.3f, most = zero + 88.3f;
  x = x < least ? least : x;
  x = x > most ? most : x;
  const V shifted = x * 1.44269504088896341f + 12582912.0f;  // the lowest bits hold the rounded quotient
  const V n = shifted - 12582912.0f;
  const V r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  V sum = r * 1.9875691500e-4f + 1.3981999507e-3f;
  sum = sum * r + 8.3334519073e-3f;
  sum = sum * r + 4.1665795894e-2f;
  sum = sum * r + 1.6666665459e-1f;
  sum = sum * r + 5.0000001201e-1f;
  sum = sum * (r * r) + r + 1.0f;
  const Whole exponent = (__builtin_bit_cast(Whole, shifted) + 127) << 23;
  return sum * __builtin_bit_cast(V, exponent);
}

MULTICARD_INLINE double exponential(double x, double) {
  return __builtin_exp(x);
}

template <typename V>
MULTICARD_INLINE V exponential(V x, double) {
  for (int i = 0; i < kWidth<double>; ++i)
    x[i] = __builtin_exp(x[i]);
  return x;
}

template <typename T, typename V>
MULTICARD_INLINE V sigmoid(V x) {
  return T(1) / (T(1) + exponential(-x, T()));
}

// Rounded as PyTorch's silu: one division.
template <typename T, typename V>
MULTICARD_INLINE V silu(V x) {
  return x / (T(1) + exponential(-x, T()));
}

template <typename S>
void add_norm(const S* x, const S* delta, const Compute<S>* weight, std::int64_t rows, std::int64_t size,
              Compute<S> epsilon, S* stream, S* normed, Compute<S>* scale) {
  using T = Compute<S>;
  for (std::int64_t row = 0; row < rows; ++row, x += size, normed += size) {
    T squares;
    const S* values = x;
    if (delta) {
      squares = sum_of<T>(size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
        using V = typename Vector<T, Lanes>::Type;
        const V value = stored(stream + i, V(load<V>(x + i) + load<V>(delta + i)));
        return V(value * value);
      });
      values = stream;
      delta += size;
      stream += size;
    } else {
      squares = sum_of<T>(size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
        using V = typename Vector<T, Lanes>::Type;
        const V value = load<V>(x + i);
        return V(value * value);
      });
    }
    const T factor = T(1) / static_cast<T>(__builtin_sqrt(squares / static_cast<T>(size) + epsilon));
    scale[row] = factor;
    for_channels<T>(size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
      using V = typename Vector<T, Lanes>::Type;
      store(normed + i, V(load<V>(values + i) * factor * load<V>(weight + i)));
    });
  }
}

template <bool Adds, typename S>
void norm_gradient_as(const S* dnormed, const S* dstream, const S* stream, const Compute<S>* weight,
                      const Compute<S>* scale, std::int64_t rows, std::int64_t size, S* dx) {
  using T = Compute<S>;
  for (std::int64_t row = 0; row < rows; ++row, dnormed += size, stream += size, dx += size) {
    const T product = sum_of<T>(size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
      using V = typename Vector<T, Lanes>::Type;
      return V(load<V>(dnormed + i) * load<V>(weight + i) * load<V>(stream + i));
    });
    const T factor = scale[row], slope = factor * factor * factor * product / static_cast<T>(size);
    for_channels<T>(size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
      using V = typename Vector<T, Lanes>::Type;
      V value = load<V>(dnormed + i) * load<V>(weight + i) * factor - load<V>(stream + i) * slope;
      if constexpr (Adds) value += load<V>(dstream + i);
      store(dx + i, value);
    });
    if constexpr (Adds) dstream += size;
  }
}

template <typename S>
void norm_gradient(const S* dnormed, const S* dstream, const S* stream, const Compute<S>* weight,
                   const Compute<S>* scale, std::int64_t rows, std::int64_t size, S* dx) {
  if (dstream)
    norm_gradient_as<true>(dnormed, dstream, stream, weight, scale, rows, size, dx);
  else
    norm_gradient_as<false>(dnormed, dstream, stream, weight, scale, rows, size, dx);
}

template <typename S>
void swiglu(const S* gate_and_up, std::int64_t rows, std::int64_t size, S* y) {
  using T = Compute<S>;
  for (std::int64_t row = 0; row < rows; ++row, gate_and_up += 2 * size, y += size) {
    for_channels<T>(size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
      using V = typename Vector<T, Lanes>::Type;
      const V value = load<V>(gate_and_up + i);
      store(y + i, V(silu<T>(value) * load<V>(gate_and_up + size + i)));
    });
  }
}

template <typename S>
void swiglu_gradient(const S* dy, const S* gate_and_up, std::int64_t rows, std::int64_t size, S* dgate_and_up) {
  using T = Compute<S>;
  for (std::int64_t row = 0; row < rows; ++row, dy += size, gate_and_up += 2 * size, dgate_and_up += 2 * size) {
    for_channels<T>(size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
      using V = typename Vector<T, Lanes>::Type;
      const V value = load<V>(gate_and_up + i), open = sigmoid<T>(value), gradient = load<V>(dy + i);
      const V up = load<V>(gate_and_up + size + i);
      store(dgate_and_up + i, V(gradient * up * open * (T(1) + value * (T(1) - open))));
      store(dgate_and_up + size + i, V(gradient * value * open));
    });
  }
}

template <typename S>
void rope(S* x, std::int64_t rows, std::int64_t stride, std::int64_t heads, std::int64_t dim, const Compute<S>* cos,
          const Compute<S>* sin, Compute<S> direction) {
  using T = Compute<S>;
  const std::int64_t half = dim / 2;
  for (std::int64_t row = 0; row < rows; ++row, x += stride, cos += half, sin += half)
    for (S* head = x; head != x + heads * dim; head += dim)
      for_channels<T>(half, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
        using V = typename Vector<T, Lanes>::Type;
        const V first = load<V>(head + i), second = load<V>(head + half + i);
        const V c = load<V>(cos + i), s = load<V>(sin + i) * direction;
        store(head + i, V(first * c - second * s));
        store(head + half + i, V(second * c + first * s));
      });
}

// 31 bits of splitmix64 (Steele, Lea and Flood 2014), as nn/layers/Random.cpp makes them of whole tensors.
MULTICARD_INLINE std::uint64_t dropout_bits(std::uint64_t key, std::uint64_t index) {
  std::uint64_t x = key + index * 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return (x ^ (x >> 31)) & 0x7FFFFFFFU;
}

template <typename S>
void drop(const S* x, std::int64_t count, std::uint64_t first, std::uint64_t key, std::uint64_t threshold,
          Compute<S> factor, S* y) {
  using T = Compute<S>;
  constexpr std::int64_t kBlock = 64;
  T factors[kBlock];
  for (std::int64_t at = 0; at < count; at += kBlock, x += kBlock, y += kBlock, first += kBlock) {
    for (std::int64_t i = 0; i < kBlock; ++i)
      factors[i] = dropout_bits(key, first + static_cast<std::uint64_t>(i)) >= threshold ? factor : T(0);
    for_channels<T>(count - at < kBlock ? count - at : kBlock, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
      using V = typename Vector<T, Lanes>::Type;
      store(y + i, V(load<V>(x + i) * load<V>(factors + i)));
    });
  }
}

template <typename T>
T log_sum_exp(const T* logits, std::int64_t size) {
  const T largest = largest_of(logits, size);
  // In blocks, so that small terms are not lost in a large sum.
  constexpr std::int64_t kBlock = 1024;
  double sum = 0;
  for (std::int64_t first = 0; first < size; first += kBlock)
    sum +=
        sum_of<T>(size - first < kBlock ? size - first : kBlock, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
          using V = typename Vector<T, Lanes>::Type;
          return exponential(V(load<V>(logits + first + i) - largest), T());
        });
  return largest + static_cast<T>(__builtin_log(sum));
}

template <typename T>
void exponentials(T* logits, std::int64_t size, T shift) {
  for_channels<T>(size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    store(logits + i, exponential(V(load<V>(logits + i) - shift), T()));
  });
}

template <typename S>
constexpr TokenKernels<S> kTokenKernels{add_norm<S>,
                                        norm_gradient<S>,
                                        swiglu<S>,
                                        swiglu_gradient<S>,
                                        rope<S>,
                                        drop<S>,
                                        log_sum_exp<Compute<S>>,
                                        exponentials<Compute<S>>};

}  // namespace
}  // namespace multicard
