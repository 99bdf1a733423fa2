#include "dist/CommDtypeCodec.hpp"

#include <bit>

#include <c10/util/Half.h>
#include <immintrin.h>

#include "base/CpuFeatures.hpp"

namespace multicard {

namespace {

constexpr std::uint32_t kSignless = 0x7FFFFFFF, kInfinity = 0x7F800000, kNan = 0x7FC00000;

/// The bits of a value rounded to bf16; the lower half is to be left out.
[[gnu::always_inline]] inline std::uint32_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  // To nearest, ties to even: adding 0x7FFF carries into the upper half when the lower one is above one half, the last
  // kept bit makes it carry at exactly one half where that bit is odd. A carry out of the mantissa gives the next power
  // of two, or infinity. A NaN could be carried into a number, so it becomes the quiet one.
  return (bits & kSignless) > kInfinity ? kNan : bits + 0x7FFF + (bits >> 16 & 1);
}

// The compiler makes vector code of these loops, for the processor of the function they land in.

[[gnu::always_inline]] inline void pack_bf16_loop(const float* __restrict values, std::uint16_t* __restrict words,
                                                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    words[i] = static_cast<std::uint16_t>(bf16_bits(values[i]) >> 16);
}

[[gnu::always_inline]] inline void unpack_bf16_loop(const std::uint16_t* __restrict words, float* __restrict values,
                                                    std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(words[i]) << 16);
}

[[gnu::always_inline]] inline void round_bf16_loop(const float* __restrict values, float* __restrict rounded,
                                                   std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    rounded[i] = std::bit_cast<float>(bf16_bits(values[i]) & 0xFFFF0000);
}

void pack_bf16(const float* values, std::uint16_t* words, std::size_t count) {
  pack_bf16_loop(values, words, count);
}

void unpack_bf16(const std::uint16_t* words, float* values, std::size_t count) {
  unpack_bf16_loop(words, values, count);
}

void round_bf16(const float* values, float* rounded, std::size_t count) {
  round_bf16_loop(values, rounded, count);
}

[[gnu::target("avx2")]] void pack_bf16_avx2(const float* values, std::uint16_t* words, std::size_t count) {
  pack_bf16_loop(values, words, count);
}

[[gnu::target("avx2")]] void unpack_bf16_avx2(const std::uint16_t* words, float* values, std::size_t count) {
  unpack_bf16_loop(words, values, count);
}

[[gnu::target("avx2")]] void round_bf16_avx2(const float* values, float* rounded, std::size_t count) {
  round_bf16_loop(values, rounded, count);
}

void pack_fp16(const float* values, std::uint16_t* words, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    words[i] = c10::detail::fp16_ieee_from_fp32_value(values[i]);
}

void unpack_fp16(const std::uint16_t* words, float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    values[i] = c10::detail::fp16_ieee_to_fp32_value(words[i]);
}

void round_fp16(const float* values, float* rounded, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    rounded[i] = c10::detail::fp16_ieee_to_fp32_value(c10::detail::fp16_ieee_from_fp32_value(values[i]));
}

constexpr std::size_t kLanes = 8;
constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

[[gnu::target("avx,f16c")]] void pack_fp16_f16c(const float* values, std::uint16_t* words, std::size_t count) {
  const std::size_t whole = count / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(words + i), _mm256_cvtps_ph(_mm256_loadu_ps(values + i), kNearest));
  for (std::size_t i = whole; i < count; ++i)
    words[i] = _cvtss_sh(values[i], kNearest);
}

[[gnu::target("avx,f16c")]] void unpack_fp16_f16c(const std::uint16_t* words, float* values, std::size_t count) {
  const std::size_t whole = count / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    _mm256_storeu_ps(values + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words + i))));
  for (std::size_t i = whole; i < count; ++i)
    values[i] = _cvtsh_ss(words[i]);
}

[[gnu::target("avx,f16c")]] void round_fp16_f16c(const float* values, float* rounded, std::size_t count) {
  const std::size_t whole = count / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    _mm256_storeu_ps(rounded + i, _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_loadu_ps(values + i), kNearest)));
  for (std::size_t i = whole; i < count; ++i)
    rounded[i] = _cvtsh_ss(_cvtss_sh(values[i], kNearest));
}

}  // namespace

CommDtypeCodec codec_of(CommDtype comm_dtype) {
  static const bool fast = __builtin_cpu_supports("avx2") && cpu_has_f16c();
  if (!fast) return portable_codec_of(comm_dtype);
  return comm_dtype == CommDtype::bf16 ? CommDtypeCodec{pack_bf16_avx2, unpack_bf16_avx2, round_bf16_avx2}
                                       : CommDtypeCodec{pack_fp16_f16c, unpack_fp16_f16c, round_fp16_f16c};
}

CommDtypeCodec portable_codec_of(CommDtype comm_dtype) {
  return comm_dtype == CommDtype::bf16 ? CommDtypeCodec{pack_bf16, unpack_bf16, round_bf16}
                                       : CommDtypeCodec{pack_fp16, unpack_fp16, round_fp16};
}

}  // namespace multicard
