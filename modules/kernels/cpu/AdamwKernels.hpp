#pragma once
/// \file The innermost loops of AdamW with moments of 8 bits, compiled once for each instruction set.

#include <cstdint>

#include "kernels/AdamwFactors.hpp"
#include "kernels/cpu/Storage.hpp"

namespace multicard {

/// The codes of moments and the scales [blocks] of their blocks of kMomentBlock.
struct MomentCodes {
  std::uint8_t* codes;
  float* scales;
};

template <typename S>
struct AdamwKernels {
  /// One step of `count` values with moments of 8 bits; the last block may be short.
  void (*with_codes)(const AdamwFactors& factors, const S* gradient, std::int64_t count, S* values, MomentCodes first,
                     MomentCodes second);
  /// With moments in float32.
  void (*with_floats)(const AdamwFactors& factors, const S* gradient, std::int64_t count, S* values, float* first,
                      float* second);
};

/// The kernels for the instruction set of this CPU.
template <typename S>
const AdamwKernels<S>& adamw_kernels();

}  // namespace multicard
