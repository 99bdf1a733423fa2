#pragma once
/// \file The innermost loops of 4-bit weights, compiled once for each instruction set.

#include <cstdint>

#include "kernels/cpu/Storage.hpp"

namespace multicard {

/// Codes are packed two to a byte, the even element in the high nibble; blocks of kNf4Block elements share a scale.
template <typename S>
struct QuantKernels {
  /// values[i] = kNf4Values[code i] * absmax[i / kNf4Block], rounded to float and then to S.
  void (*nf4_values)(const std::uint8_t* packed, const float* absmax, std::int64_t count, S* values);
  /// The codes of one block of at most kNf4Block values. \return the largest absolute value
  float (*nf4_codes)(const float* values, std::int64_t count, std::uint8_t* packed);
};

/// The kernels for the instruction set of this CPU.
template <typename S>
const QuantKernels<S>& quant_kernels();

}  // namespace multicard
