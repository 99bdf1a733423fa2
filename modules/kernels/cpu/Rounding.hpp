#pragma once
// Numbers rounded to integers, ties to even, a vector or a single one at a time. See Vectors.hpp for who may include
// this.

#include "kernels/cpu/VectorTypes.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace multicard {
namespace {

#ifdef __AVX2__
constexpr int kQuietlyToEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

MULTICARD_INLINE void round_register(__m256& values) {
  values = _mm256_round_ps(values, kQuietlyToEven);
}
MULTICARD_INLINE void round_register(__m256d& values) {
  values = _mm256_round_pd(values, kQuietlyToEven);
}

#ifdef __AVX512F__
// Of intrinsics without a mask GCC 12 warns.
MULTICARD_INLINE void round_register(__m512& values) {
  values = _mm512_maskz_roundscale_ps(0xffff, values, kQuietlyToEven);
}
MULTICARD_INLINE void round_register(__m512d& values) {
  values = _mm512_maskz_roundscale_pd(0xff, values, kQuietlyToEven);
}
#endif

template <typename V, typename Register>
MULTICARD_INLINE V rounded_by(V values, Register) {
  auto bits = __builtin_bit_cast(Register, values);
  round_register(bits);
  return __builtin_bit_cast(V, bits);
}

MULTICARD_INLINE float to_integers(float value, float) {
  return __builtin_rintf(value);
}
MULTICARD_INLINE double to_integers(double value, double) {
  return __builtin_rint(value);
}
#else
// Without an instruction for it, by the rounding of a sum whose last bit is worth 1: right below 2^22 (2^51). No
// instruction for a product and a sum can leave out the product's own rounding here.
template <typename V>
MULTICARD_INLINE V to_integers(V values, float) {
  return (values + 12582912.0F) - 12582912.0F;
}
template <typename V>
MULTICARD_INLINE V to_integers(V values, double) {
  return (values + 6755399441055744.0) - 6755399441055744.0;
}
#endif

#if defined(__AVX512F__)
template <typename V>
MULTICARD_INLINE V to_integers(V values, float) {
  if constexpr (sizeof(V) == sizeof(__m512))  // NOLINT(bugprone-branch-clone): two types of register
    return rounded_by(values, __m512());
  else
    return rounded_by(values, __m256());
}
template <typename V>
MULTICARD_INLINE V to_integers(V values, double) {
  return rounded_by(values, __m512d());
}
#elif defined(__AVX2__)
template <typename V>
MULTICARD_INLINE V to_integers(V values, float) {
  return rounded_by(values, __m256());
}
template <typename V>
MULTICARD_INLINE V to_integers(V values, double) {
  return rounded_by(values, __m256d());
}
#endif

}  // namespace
}  // namespace multicard
