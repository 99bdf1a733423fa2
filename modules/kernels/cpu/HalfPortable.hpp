#pragma once
// Values between float16 and float32 for CPUs without instructions for it. See Vectors.hpp for who may include this.

#include <cstdint>

#include "kernels/cpu/VectorTypes.hpp"

namespace multicard {
namespace {

template <typename V>
MULTICARD_INLINE V float_of_half(const typename Bits<V>::Half& bits) {
  using Whole = typename Bits<V>::Whole;
  constexpr std::uint32_t kExponent = 0x7c00u << 13, kBias = (127u - 15u) << 23, kLeastNormal = 113u << 23;
  const Whole half = converted<Whole>(bits), magnitude = (half & 0x7fffu) << 13, exponent = magnitude & kExponent;
  const Whole normal = magnitude + kBias, infinite = normal + kBias, least = Whole{} + kLeastNormal;
  // Without an exponent it has no leading one: put it there and take it away.
  const V subnormal = __builtin_bit_cast(V, normal + (1u << 23)) - __builtin_bit_cast(V, least);
  const Whole finite = exponent == 0u ? __builtin_bit_cast(Whole, subnormal) : normal;
  return __builtin_bit_cast(V, (exponent == kExponent ? infinite : finite) | (half & 0x8000u) << 16);
}

template <typename V>
MULTICARD_INLINE typename Bits<V>::Half half_of_float(const V& value) {
  using Whole = typename Bits<V>::Whole;
  constexpr std::uint32_t kInfinity = 0x7f800000u, kTooLarge = (127u + 16u) << 23, kLeastNormal = 113u << 23;
  const Whole bits = __builtin_bit_cast(Whole, value), sign = bits & 0x80000000u, magnitude = bits ^ sign, zero{};
  // The sum with one half has the unit of a subnormal float16 in its last place.
  const Whole one_half = zero + (126u << 23);
  const V shifted = __builtin_bit_cast(V, magnitude) + __builtin_bit_cast(V, one_half);
  const Whole subnormal = __builtin_bit_cast(Whole, shifted) - one_half;
  const Whole normal = (magnitude - ((127u - 15u) << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const Whole finite = magnitude < kLeastNormal ? subnormal : normal;
  const Whole special = magnitude > kInfinity ? zero + 0x7e00u : zero + 0x7c00u;
  const Whole rounded = magnitude < kTooLarge ? finite : special;
  return converted<typename Bits<V>::Half>(rounded | sign >> 16);
}

}  // namespace
}  // namespace multicard
