#pragma once
// The loops behind QuantKernels; see Vectors.hpp for who may include this.

#include "kernels/Nf4Values.hpp"
#include "kernels/cpu/QuantKernels.hpp"
#include "kernels/cpu/Vectors.hpp"

namespace multicard {
namespace {

#if defined(__AVX512F__)
constexpr int kCodeLanes = 16;
#else
constexpr int kCodeLanes = 8;
#endif
using CodeValues = Vector<float, kCodeLanes>::Type;
using Codes = Bits<CodeValues>::Whole;

#if defined(__AVX512F__)
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

MULTICARD_INLINE float value_of_code(const std::uint8_t* packed, std::int64_t i) {
  const std::uint8_t byte = packed[i / 2];
  return kNf4Values[i % 2 == 0 ? byte >> 4 : byte & 15];
}

template <typename V>
MULTICARD_INLINE void store_values(double* to, V values) {
  for (int i = 0; i < kCodeLanes; ++i)
    to[i] = static_cast<double>(values[i]);
}

template <typename S, typename V>
MULTICARD_INLINE void store_values(S* to, V values) {
  store(to, values);
}

// Whether an instruction looks a table of codes up.
#if defined(__AVX2__)
constexpr bool kLooksUp = true;
#else
constexpr bool kLooksUp = false;
#endif

template <typename S>
MULTICARD_INLINE void nf4_block(const std::uint8_t* packed, float absmax, std::int64_t count, S* values) {
  std::int64_t i = 0;
  for (; kLooksUp && i + kCodeLanes <= count; i += kCodeLanes)
    store_values(values + i, CodeValues(values_of_codes(codes_of(packed + i / 2)) * absmax));
  for (; i < count; ++i)
    store(values + i, static_cast<Compute<S>>(value_of_code(packed, i) * absmax));
}

template <typename S>
void nf4_values(const std::uint8_t* packed, const float* absmax, std::int64_t count, S* values) {
  for (std::int64_t first = 0; first < count; first += kNf4Block) {
    const std::int64_t left = count - first;
    nf4_block(packed + first / 2, absmax[first / kNf4Block], left < kNf4Block ? left : kNf4Block, values + first);
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
