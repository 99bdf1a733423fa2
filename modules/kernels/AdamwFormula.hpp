#pragma once
// The update of AdamW with moments of 8 bits, for one element. CPUs of all instruction sets and GPUs give the same
// bits: every sum with a product is one operation, so that no compiler has a choice. Everything is internal to the
// including source (kernels/cpu/Vectors.hpp).

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/AdamwFactors.hpp"
#include "kernels/DynamicMap.hpp"

#ifdef __CUDACC__
#define MULTICARD_FORMULA __device__ __forceinline__
#else
#define MULTICARD_FORMULA inline __attribute__((always_inline))
#endif

namespace multicard {

namespace {

MULTICARD_FORMULA float next_first_moment(const AdamwFactors& factors, float moment, float gradient) {
  return ::fmaf(gradient, factors.new1, moment * factors.beta1);
}

MULTICARD_FORMULA float next_second_moment(const AdamwFactors& factors, float moment, float gradient) {
  return ::fmaf(factors.new2 * gradient, gradient, moment * factors.beta2);
}

MULTICARD_FORMULA float change_of_value(const AdamwFactors& factors, float first, float second) {
  return -(factors.rate * first) / (::sqrtf(second) / factors.correction + factors.eps);
}

MULTICARD_FORMULA float changed_value(const AdamwFactors& factors, float value, float change) {
  return ::fmaf(static_cast<float>(factors.decay), value, change);
}
MULTICARD_FORMULA double changed_value(const AdamwFactors& factors, double value, float change) {
  return ::fma(factors.decay, value, static_cast<double>(change));
}

/// What scales of a block multiply by to become the values of a map.
MULTICARD_FORMULA float inverse_of_scale(float largest) {
  return 1.0F / (largest > kLeastMomentScale ? largest : kLeastMomentScale);
}

/// The code of the nearest value; of the lower one in the middle between two.
MULTICARD_FORMULA std::uint8_t nearest_code(const DynamicMap& map, float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  int key = static_cast<int>(bits >> 16 & 0x7fffU) - DynamicMap::kFirstKey;
  key = key < 0 ? 0 : key;
  key = key >= DynamicMap::kNumKeys ? DynamicMap::kNumKeys - 1 : key;
  const std::uint8_t code = map.below[key + static_cast<int>(bits >> 31) * DynamicMap::kNumKeys];
  return static_cast<std::uint8_t>(code + (value > map.bounds[code] ? 1 : 0));
}

}  // namespace
}  // namespace multicard
