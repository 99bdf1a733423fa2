#pragma once
// The loops of FakeQuantKernels; see Vectors.hpp for who may include this.

#include "kernels/FakeQuantValues.hpp"
#include "kernels/cpu/ChannelBlocks.hpp"
#include "kernels/cpu/FakeQuantKernels.hpp"
#include "kernels/cpu/LargestTerm.hpp"
#include "kernels/cpu/Rounding.hpp"

namespace multicard {
namespace {

// What stands between values and codes: code = clamp(round(value / scale) + zero), by the reciprocal as torchao does.
template <typename T>
struct Grid {
  T scale, inverse, zero, least, most;

  template <typename V>
  MULTICARD_INLINE V unclamped(V values) const {
    return to_integers(V(values * inverse), T()) + zero;
  }
  template <typename V>
  MULTICARD_INLINE V codes(V values) const {
    const V codes = unclamped(values), low = V{} + least, high = V{} + most;
    const V raised = codes < low ? low : codes;
    return raised > high ? high : raised;
  }
  template <typename V>
  MULTICARD_INLINE V values(V values) const {
    return (codes(values) - zero) * scale;
  }
  // Rounding has the gradient 1, clamping 0 where it acts.
  template <typename V>
  MULTICARD_INLINE V gradient(V values, V dy) const {
    const V codes = unclamped(values), none{}, low = V{} + least, high = V{} + most;
    const V above = codes >= low ? V(dy * scale * inverse) : none;
    return codes <= high ? above : none;
  }
};

template <typename T, typename S>
MULTICARD_INLINE Grid<T> grid_of_weights(const S* weights, std::int64_t size) {
  const T largest = largest_term<T>(size, T(0), [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    const V value = load<V>(weights + i);
    return V(value < V{} ? -value : value);
  });
  const T scale = larger<T>(largest / T(kInt4Half), T(kInt4LeastScale));
  return {scale, T(1) / scale, T(0), T(kInt4Least), T(kInt4Most)};
}

template <typename T, typename S>
MULTICARD_INLINE Grid<T> grid_of_token(const S* x, std::int64_t size) {
  const T high = largest_term<T>(size, T(0), [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
    return load<typename Vector<T, Lanes>::Type>(x + i);
  });
  const T low = -largest_term<T>(size, T(0), [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    return V(-load<V>(x + i));
  });
  const T scale = larger<T>((high - low) / T(kInt8Steps), T(kInt8LeastScale));
  const T zero = T(kInt8Least) - to_integers(T(low / scale), T());
  const T raised = larger<T>(zero, T(kInt8Least));
  return {scale, T(1) / scale, raised > T(kInt8Most) ? T(kInt8Most) : raised, T(kInt8Least), T(kInt8Most)};
}

template <typename T, typename S, typename Out>
MULTICARD_INLINE void fake_values(const Grid<T>& grid, const S* x, std::int64_t size, Out* y) {
  for_channels<T>(size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
    store(y + i, grid.values(load<typename Vector<T, Lanes>::Type>(x + i)));
  });
}

template <typename T, typename S>
MULTICARD_INLINE void fake_gradient(const Grid<T>& grid, const S* x, std::int64_t size, S* gradient) {
  for_channels<T>(size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    store(gradient + i, grid.gradient(load<V>(x + i), load<V>(gradient + i)));
  });
}

template <typename S, typename Out>
void fake_int4(const S* weights, std::int64_t groups, std::int64_t size, Out* y) {
  for (std::int64_t group = 0; group < groups; ++group, weights += size, y += size)
    fake_values(grid_of_weights<Compute<S>>(weights, size), weights, size, y);
}

template <typename S>
void fake_int4_gradient(const S* weights, std::int64_t groups, std::int64_t size, S* gradient) {
  for (std::int64_t group = 0; group < groups; ++group, weights += size, gradient += size)
    fake_gradient(grid_of_weights<Compute<S>>(weights, size), weights, size, gradient);
}

template <typename S>
void int4_codes(const S* weights, std::int64_t groups, std::int64_t size, std::uint8_t* packed, float* scales) {
  using T = Compute<S>;
  for (std::int64_t group = 0; group < groups; ++group, weights += size, packed += size / 2) {
    const Grid<T> grid = grid_of_weights<T>(weights, size);
    scales[group] = static_cast<float>(grid.scale);
    const auto nibble = [&](std::int64_t i) MULTICARD_INLINE_BODY {
      return static_cast<unsigned>(static_cast<int>(grid.codes(load<T>(weights + i)))) & 15U;
    };
    for (std::int64_t i = 0; i < size; i += 2)
      packed[i / 2] = static_cast<std::uint8_t>(nibble(i) << 4 | nibble(i + 1));
  }
}

template <typename S>
void int4_values(const std::uint8_t* packed, const float* scales, std::int64_t groups, std::int64_t size, S* y) {
  using T = Compute<S>;
  for (std::int64_t group = 0; group < groups; ++group, packed += size / 2, y += size) {
    const float scale = scales[group];
    for (std::int64_t i = 0; i < size; i += 2) {
      const std::uint8_t byte = packed[i / 2];
      const int even = static_cast<std::int8_t>(byte) >> 4, odd = static_cast<std::int8_t>(byte << 4) >> 4;
      store(y + i, T(static_cast<float>(even) * scale));
      store(y + i + 1, T(static_cast<float>(odd) * scale));
    }
  }
}

template <typename S>
void fake_int8(const S* x, std::int64_t tokens, std::int64_t size, S* y) {
  for (std::int64_t token = 0; token < tokens; ++token, x += size, y += size)
    fake_values(grid_of_token<Compute<S>>(x, size), x, size, y);
}

template <typename S>
void fake_int8_gradient(const S* x, std::int64_t tokens, std::int64_t size, S* gradient) {
  for (std::int64_t token = 0; token < tokens; ++token, x += size, gradient += size)
    fake_gradient(grid_of_token<Compute<S>>(x, size), x, size, gradient);
}

template <typename S>
constexpr FakeQuantKernels<S> kFakeQuantKernels{fake_int4<S, S>,      fake_int4<S, Compute<S>>, fake_int4_gradient<S>,
                                                int4_codes<S>,        int4_values<S>,           fake_int8<S>,
                                                fake_int8_gradient<S>};

}  // namespace
}  // namespace multicard
