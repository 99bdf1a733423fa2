#pragma once
/// \file Conversion between float32 and the 16-bit communication dtypes; for modules/dist and its tests only.

#include <cstddef>
#include <cstdint>

#include <c10/core/ScalarType.h>

#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Conversions of arrays of `count` values. Packing rounds to nearest even; too large values become infinite, NaN stays
/// NaN. Unpacking is exact. Rounding is both at once. No two arrays overlap.
struct CommDtypeCodec {
  void (*pack)(const float* values, std::uint16_t* words, std::size_t count);
  void (*unpack)(const std::uint16_t* words, float* values, std::size_t count);
  void (*round)(const float* values, float* rounded, std::size_t count);
};

/// For bf16 and fp16: the fastest of this processor (AVX2 and F16C where it has them).
CommDtypeCodec codec_of(CommDtype comm_dtype);
/// The same for any processor.
CommDtypeCodec portable_codec_of(CommDtype comm_dtype);

/// kBFloat16 or kHalf.
inline at::ScalarType type_of(CommDtype comm_dtype) {
  return comm_dtype == CommDtype::bf16 ? at::kBFloat16 : at::kHalf;
}

}  // namespace multicard
