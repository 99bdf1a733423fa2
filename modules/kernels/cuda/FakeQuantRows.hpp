#pragma once
/// \file Rows of fake quantisation, which have one scale each, for groups of threads as in RowPacks.hpp. Formulas are
/// those of kernels/FakeQuant.hpp, in the order in which CPUs compute them: the same bits.

#include <cmath>

#include "kernels/FakeQuantValues.hpp"
#include "kernels/cuda/RowPacks.hpp"

namespace multicard::rows {

/// Of values and 0.
struct ValueRange {
  float low = 0, high = 0;
};

/// What stands between values and codes.
struct CodeGrid {
  float scale, inverse, zero, least, most;

  MULTICARD_DEVICE float unclamped(float value) const { return std::rint(value * inverse) + zero; }
  MULTICARD_DEVICE float value(float value) const {
    const float raised = larger(unclamped(value), least);
    return ((raised > most ? most : raised) - zero) * scale;
  }
  MULTICARD_DEVICE float gradient(float value, float dy) const {
    const float code = unclamped(value);
    return code >= least && code <= most ? dy * scale * inverse : 0.0F;
  }
};

/// A group of int4 weights. \param own of the values of this thread
struct Int4Group {
  template <typename Group>
  static MULTICARD_DEVICE CodeGrid grid(const Group& group, const ValueRange& own) {
    const float largest = group.reduce(larger(-own.low, own.high), Larger());
    const float scale = larger(largest / kInt4Half, kInt4LeastScale);
    return {scale, 1.0F / scale, 0.0F, kInt4Least, kInt4Most};
  }
};

/// A token of int8 activations.
struct Int8Token {
  template <typename Group>
  static MULTICARD_DEVICE CodeGrid grid(const Group& group, const ValueRange& own) {
    const float low = -group.reduce(-own.low, Larger()), high = group.reduce(own.high, Larger());
    const float scale = larger((high - low) / kInt8Steps, kInt8LeastScale);
    const float zero = larger(kInt8Least - std::rint(low / scale), kInt8Least);
    return {scale, 1.0F / scale, zero > kInt8Most ? kInt8Most : zero, kInt8Least, kInt8Most};
  }
};

/// The grid of x [size], the first packs of which are kept.
template <typename Row, int kWidth, typename S, typename Group>
MULTICARD_DEVICE CodeGrid grid_of(const Group& group, const S* x, std::int64_t size, Pack<S, kWidth>* kept) {
  ValueRange own;
  for_packs<kWidth>(group, size, [&](std::int64_t at, int slot) {
    const Pack<S, kWidth> pack = load<kWidth>(x + at);
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      const float value = static_cast<float>(pack.values[i]);
      own.high = larger(value, own.high);
      own.low = value < own.low ? value : own.low;
    }
    if (slot < kKept) kept[slot] = pack;
  });
  return Row::grid(group, own);
}

/// y = x as its codes stand for it; Row is Int4Group or Int8Token.
template <typename Row, int kWidth, typename S, typename Group>
MULTICARD_DEVICE void fake_quantise(const Group& group, const S* x, std::int64_t size, S* y) {
  Pack<S, kWidth> kept[kKept];
  const CodeGrid grid = grid_of<Row, kWidth>(group, x, size, kept);
  for_packs<kWidth>(group, size, [&](std::int64_t at, int slot) {
    const Pack<S, kWidth> pack = slot < kKept ? kept[slot] : load<kWidth>(x + at);
    Pack<S, kWidth> result;
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i)
      result.values[i] = static_cast<S>(grid.value(static_cast<float>(pack.values[i])));
    store<kWidth>(y + at, result);
  });
}

/// Makes the gradient of y that of x, in place.
template <typename Row, int kWidth, typename S, typename Group>
MULTICARD_DEVICE void fake_quantise_gradient(const Group& group, const S* x, std::int64_t size, S* gradient) {
  Pack<S, kWidth> kept[kKept];
  const CodeGrid grid = grid_of<Row, kWidth>(group, x, size, kept);
  for_packs<kWidth>(group, size, [&](std::int64_t at, int slot) {
    const Pack<S, kWidth> pack = slot < kKept ? kept[slot] : load<kWidth>(x + at);
    const Pack<S, kWidth> dy = load<kWidth>(gradient + at);
    Pack<S, kWidth> result;
    MULTICARD_UNROLL
    for (int i = 0; i < kWidth; ++i)
      result.values[i] =
          static_cast<S>(grid.gradient(static_cast<float>(pack.values[i]), static_cast<float>(dy.values[i])));
    store<kWidth>(gradient + at, result);
  });
}

}  // namespace multicard::rows
