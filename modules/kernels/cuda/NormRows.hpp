#pragma once
/// \file RMSNorm of rows of tokens and its gradients, for groups of threads as in RowPacks.hpp.

#include <cmath>

#include "kernels/cuda/RowPacks.hpp"

namespace multicard::rows {

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

}  // namespace multicard::rows
