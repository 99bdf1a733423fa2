#pragma once
// Values between float16 and float32 by the instructions of F16C and AVX-512. See Vectors.hpp for who may include this.

#include <immintrin.h>

#include "kernels/cpu/VectorTypes.hpp"

namespace multicard {
namespace {

constexpr int kToNearestEven = _MM_FROUND_TO_NEAREST_INT;

using Floats8 = Vector<float, 8>::Type;

MULTICARD_INLINE Floats8 widened(const Bits<Floats8>::Half& bits) {
  return __builtin_bit_cast(Floats8, _mm256_cvtph_ps(__builtin_bit_cast(__m128i, bits)));
}
MULTICARD_INLINE float widened(const Bits<float>::Half& bits) {
  return _cvtsh_ss(bits);
}
MULTICARD_INLINE Bits<Floats8>::Half narrowed(const Floats8& value) {
  const __m128i bits = _mm256_cvtps_ph(__builtin_bit_cast(__m256, value), kToNearestEven);
  return __builtin_bit_cast(Bits<Floats8>::Half, bits);
}
MULTICARD_INLINE Bits<float>::Half narrowed(const float& value) {
  return _cvtss_sh(value, kToNearestEven);
}

#ifdef __AVX512F__
using Floats16 = Vector<float, 16>::Type;
constexpr __mmask16 kAll = 0xffff;  // of the intrinsics without a mask GCC 12 warns

MULTICARD_INLINE Floats16 widened(const Bits<Floats16>::Half& bits) {
  return __builtin_bit_cast(Floats16, _mm512_maskz_cvtph_ps(kAll, __builtin_bit_cast(__m256i, bits)));
}
MULTICARD_INLINE Bits<Floats16>::Half narrowed(const Floats16& value) {
  const __m256i bits = _mm512_maskz_cvtps_ph(kAll, __builtin_bit_cast(__m512, value), kToNearestEven);
  return __builtin_bit_cast(Bits<Floats16>::Half, bits);
}
#endif

template <typename V>
MULTICARD_INLINE V float_of_half(const typename Bits<V>::Half& bits) {
  return widened(bits);
}

template <typename V>
MULTICARD_INLINE typename Bits<V>::Half half_of_float(const V& value) {
  return narrowed(value);
}

}  // namespace
}  // namespace multicard
