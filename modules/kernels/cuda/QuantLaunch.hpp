#pragma once
/// \file Launches that dequantise 4-bit weights. S is float, c10::Half or c10::BFloat16; the values of codes, two
/// to a byte with the even one in the high nibble, are contiguous.

#include <cstdint>

#include <cuda_runtime_api.h>

namespace multicard::rows {

/// What the codes of NF4 stand for, and those of scales.
struct Nf4Tables {
  float values[16];
  float scales[256];
};

/// Codes from the beginning of a block on.
struct Nf4Codes {
  const std::uint8_t* packed;
  const float* absmax;              ///< of the blocks; null: as follows
  const std::uint8_t* scale_codes;  ///< of the blocks
  const float* nested_absmax;       ///< of the matrix
  float nested_offset;
  std::int64_t first_block;  ///< in the matrix
};

/// Codes and where the values of `count` of them, at least one, go.
template <typename S>
struct Nf4Part {
  Nf4Codes codes;
  std::int64_t count;
  S* values;
};

struct Int4Codes {
  const std::uint8_t* packed;
  const float* scales;
  std::int64_t group_size;
};

/// One launch for up to 8 parts.
template <typename S>
cudaError_t launch_nf4_values(const Nf4Part<S>* parts, std::int64_t count, const Nf4Tables& tables,
                              cudaStream_t stream);
template <typename S>
cudaError_t launch_int4_values(const Int4Codes& codes, std::int64_t count, S* values, cudaStream_t stream);

}  // namespace multicard::rows
