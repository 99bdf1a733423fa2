#pragma once
// The loops of QuantKernels; see Vectors.hpp for who may include this.

#include "kernels/Nf4Values.hpp"
#include "kernels/cpu/QuantKernels.hpp"
#include "kernels/cpu/Vectors.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace multicard {
namespace {

MULTICARD_INLINE std::uint8_t code_of(const std::uint8_t* packed, std::int64_t i) {
  return i % 2 == 0 ? packed[i / 2] >> 4 : packed[i / 2] & 15;
}

#ifdef __AVX2__
constexpr int kCodeLanes = kWidth<float>;
using CodeValues = Vector<float, kCodeLanes>::Type;
using Codes = Bits<CodeValues>::Whole;

#ifdef __AVX512F__
MULTICARD_INLINE CodeValues values_of_codes(Codes codes) {
  return __builtin_shuffle(load<CodeValues>(kNf4Values), codes);
}
#else
MULTICARD_INLINE CodeValues values_of_codes(Codes codes) {
  return __builtin_shuffle(load<CodeValues>(kNf4Values), load<CodeValues>(kNf4Values + 8), codes);
}
#endif

// The codes of half as many bytes.
MULTICARD_INLINE Codes codes_of(const std::uint8_t* packed) {
  typedef std::uint8_t Bytes __attribute__((vector_size(kCodeLanes / 2)));
  typedef std::uint64_t Pairs __attribute__((vector_size(4 * kCodeLanes)));
  const Pairs bytes = __builtin_convertvector(load<Bytes>(packed), Pairs);
  return __builtin_bit_cast(Codes, (bytes >> 4) | ((bytes & 15) << 32));
}

MULTICARD_INLINE void store_values(float* to, CodeValues values) {
  store(to, values);
}
MULTICARD_INLINE void store_values(double* to, CodeValues values) {
  for (int i = 0; i < kCodeLanes; ++i)
    to[i] = static_cast<double>(values[i]);
}

// As many values as fill vectors; returns their number.
template <typename S>
MULTICARD_INLINE std::int64_t nf4_vectors(const std::uint8_t* packed, float absmax, std::int64_t count, S* values) {
  std::int64_t i = 0;
  for (; i + kCodeLanes <= count; i += kCodeLanes)
    store_values(values + i, CodeValues(values_of_codes(codes_of(packed + i / 2)) * absmax));
  return i;
}
#else
template <typename S>
MULTICARD_INLINE std::int64_t nf4_vectors(const std::uint8_t*, float, std::int64_t, S*) {
  return 0;  // no instruction looks a table of codes up
}
#endif

template <typename S>
MULTICARD_INLINE void nf4_block(const std::uint8_t* packed, float absmax, std::int64_t count, S* values) {
  for (std::int64_t i = nf4_vectors(packed, absmax, count, values); i < count; ++i)
    store(values + i, static_cast<Compute<S>>(kNf4Values[code_of(packed, i)] * absmax));
}

// Values of 16 bits: what the 16 codes stand for in a block is computed and rounded once, and looked up.
constexpr std::int64_t kLookUp = 32;  // values of one look-up
typedef std::uint16_t Table __attribute__((vector_size(32)));

#if defined(__AVX512BW__)
MULTICARD_INLINE void look_up(const Table& table, const std::uint8_t* packed, std::uint16_t* values) {
  const __m512i twice = _mm512_maskz_broadcast_i64x4(0xff, __builtin_bit_cast(__m256i, table));
  const __m512i bytes = _mm512_maskz_cvtepu8_epi32(0xffff, load<__m128i>(packed));
  // Only the low five bits of an index are used. The fifth bit of an odd value's index belongs to another code, so the
  // table is stored twice.
  const __m512i codes = _mm512_maskz_srli_epi32(0xffff, bytes, 4) | _mm512_maskz_slli_epi32(0xffff, bytes, 16);
  store(values, _mm512_maskz_permutexvar_epi16(0xffffffff, codes, twice));
}
#elif defined(__AVX2__)
// Looks up the lower and the upper bytes separately: AVX2 has no table lookup of 16-bit values.
MULTICARD_INLINE void look_up(const Table& table, const std::uint8_t* packed, std::uint16_t* values) {
  const __m128i parts[2] = {load<__m128i>(&table), load<__m128i>(reinterpret_cast<const std::uint16_t*>(&table) + 8)};
  const __m128i low_bytes = _mm_set1_epi16(0xff);
  const __m128i lower = _mm_packus_epi16(parts[0] & low_bytes, parts[1] & low_bytes);
  const __m128i upper = _mm_packus_epi16(_mm_srli_epi16(parts[0], 8), _mm_srli_epi16(parts[1], 8));
  const __m128i bytes = load<__m128i>(packed), nibbles = _mm_set1_epi8(15);
  const __m128i even = _mm_srli_epi16(bytes, 4) & nibbles, odd = bytes & nibbles;
  const __m128i codes[2] = {_mm_unpacklo_epi8(even, odd), _mm_unpackhi_epi8(even, odd)};
  for (int i = 0; i < 2; ++i) {
    const __m128i low = _mm_shuffle_epi8(lower, codes[i]), high = _mm_shuffle_epi8(upper, codes[i]);
    store(values + 16 * i, _mm_unpacklo_epi8(low, high));
    store(values + 16 * i + 8, _mm_unpackhi_epi8(low, high));
  }
}
#else
MULTICARD_INLINE void look_up(const Table& table, const std::uint8_t* packed, std::uint16_t* values) {
  for (std::int64_t i = 0; i < kLookUp; ++i)
    values[i] = table[code_of(packed, i)];
}
#endif

template <typename S>
MULTICARD_INLINE void nf4_block_of_halves(const std::uint8_t* packed, float absmax, std::int64_t count, S* values) {
  S rounded[16];
  using V = Vector<float, kWidth<float>>::Type;
  for (int i = 0; i < 16; i += kWidth<float>)
    store(rounded + i, V(load<V>(kNf4Values + i) * absmax));
  const auto table = load<Table>(&rounded->bits);
  std::int64_t i = 0;
  for (; i + kLookUp <= count; i += kLookUp)
    look_up(table, packed + i / 2, &values[i].bits);
  for (; i < count; ++i)
    values[i] = rounded[code_of(packed, i)];
}

template <typename S>
void nf4_values(const std::uint8_t* packed, const float* absmax, std::int64_t count, S* values) {
  for (std::int64_t first = 0; first < count; first += kNf4Block) {
    const std::int64_t left = count - first, size = left < kNf4Block ? left : kNf4Block;
    if constexpr (sizeof(S) == sizeof(std::uint16_t))
      nf4_block_of_halves(packed + first / 2, absmax[first / kNf4Block], size, values + first);
    else
      nf4_block(packed + first / 2, absmax[first / kNf4Block], size, values + first);
  }
}

MULTICARD_INLINE float largest_magnitude(const float* values, std::int64_t count) {
  float largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float magnitude = __builtin_fabsf(values[i]);
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

float nf4_codes(const float* values, std::int64_t count, std::uint8_t* packed) {
  const float absmax = largest_magnitude(values, count);
  const float divisor = absmax > 0 ? absmax : 1;  // a block of zeros has the code of 0
  std::uint32_t codes[kNf4Block] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    const float scaled = values[i] / divisor;
    std::uint32_t code = 0;
    for (const float bound : kNf4Bounds)
      code += scaled > bound ? 1 : 0;
    codes[i] = code;
  }
  for (std::int64_t i = 0; i < count; i += 2)
    packed[i / 2] = static_cast<std::uint8_t>(codes[i] << 4 | (i + 1 < count ? codes[i + 1] : 0));
  return absmax;
}

template <typename S>
constexpr QuantKernels<S> kQuantKernels{nf4_values<S>, nf4_codes};

}  // namespace
}  // namespace multicard
