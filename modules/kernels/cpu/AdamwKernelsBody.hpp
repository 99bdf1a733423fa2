#pragma once
// The loops of AdamwKernels; see Vectors.hpp for who may include this.

#include "kernels/AdamwFormula.hpp"
#include "kernels/cpu/AdamwKernels.hpp"
#include "kernels/cpu/LargestTerm.hpp"

namespace multicard {
namespace {

MULTICARD_INLINE void decode(const DynamicMap& map, const std::uint8_t* codes, float scale, std::int64_t count,
                             float* moments) {
  for (std::int64_t i = 0; i < count; ++i)
    moments[i] = map.values[codes[i]] * scale;
}

// Returns the scale.
MULTICARD_INLINE float encode(const DynamicMap& map, const float* moments, std::int64_t count, std::uint8_t* codes) {
  const float scale = largest_term<float>(count, 0.0F, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
    using V = typename Vector<float, Lanes>::Type;
    const V value = load<V>(moments + i);
    return V(value < V{} ? -value : value);
  });
  const float inverse = inverse_of_scale(scale);
  for (std::int64_t i = 0; i < count; ++i)
    codes[i] = nearest_code(map, moments[i] * inverse);
  return scale;
}

// Of at most a block. In three loops, of which the first and the last convert, so that the compiler has vectors for
// all.
template <typename S>
MULTICARD_INLINE void adamw_block(const AdamwFactors& factors, const S* gradient, std::int64_t count, S* values,
                                  float* first, float* second) {
  using T = Compute<S>;
  float slopes[kMomentBlock], changes[kMomentBlock];
  for (std::int64_t i = 0; i < count; ++i)
    slopes[i] = static_cast<float>(load<T>(gradient + i));
  for (std::int64_t i = 0; i < count; ++i) {
    first[i] = next_first_moment(factors, first[i], slopes[i]);
    second[i] = next_second_moment(factors, second[i], slopes[i]);
    changes[i] = change_of_value(factors, first[i], second[i]);
  }
  for (std::int64_t i = 0; i < count; ++i)
    store(values + i, changed_value(factors, load<T>(values + i), changes[i]));
}

MULTICARD_INLINE std::int64_t size_of_block(std::int64_t at, std::int64_t count) {
  return count - at < kMomentBlock ? count - at : kMomentBlock;
}

template <typename S>
void adamw_with_codes(const AdamwFactors& factors, const S* gradient, std::int64_t count, S* values, MomentCodes first,
                      MomentCodes second) {
  const DynamicMap &of_first = signed_dynamic_map(), &of_second = unsigned_dynamic_map();
  float moments[kMomentBlock], squares[kMomentBlock];
  for (std::int64_t at = 0, block = 0; at < count; at += kMomentBlock, ++block) {
    const std::int64_t size = size_of_block(at, count);
    decode(of_first, first.codes + at, first.scales[block], size, moments);
    decode(of_second, second.codes + at, second.scales[block], size, squares);
    adamw_block(factors, gradient + at, size, values + at, moments, squares);
    first.scales[block] = encode(of_first, moments, size, first.codes + at);
    second.scales[block] = encode(of_second, squares, size, second.codes + at);
  }
}

template <typename S>
void adamw_with_floats(const AdamwFactors& factors, const S* gradient, std::int64_t count, S* values, float* first,
                       float* second) {
  for (std::int64_t at = 0; at < count; at += kMomentBlock)
    adamw_block(factors, gradient + at, size_of_block(at, count), values + at, first + at, second + at);
}

template <typename S>
constexpr AdamwKernels<S> kAdamwKernels{adamw_with_codes<S>, adamw_with_floats<S>};

}  // namespace
}  // namespace multicard
