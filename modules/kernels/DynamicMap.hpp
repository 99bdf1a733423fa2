#pragma once
/// \file The 8-bit floats of bitsandbytes' optimizers and nested scales (Dettmers et al. 2022, arXiv 2110.02861).

#include <cstdint>

namespace multicard {

/// What the codes 0 to 255 stand for, ascending, and what finds the code of a value. It lies as it is in the memory of
/// CPUs and GPUs.
struct DynamicMap {
  /// Keys of a value's magnitude: the upper half of its bits, from that of 2^-24 to that of 1. Between the values of a
  /// key, with their sign, lies at most one bound.
  static constexpr int kFirstKey = 0x3380, kNumKeys = 0x3f80 - kFirstKey + 1;

  float values[256];
  float bounds[256];                 ///< [i]: the middle between values i and i + 1; the last is infinity
  std::uint8_t below[2 * kNumKeys];  ///< bounds below the values of a key: of positive ones, then of negative ones
};

/// bitsandbytes' create_dynamic_map(): seven decades up to 1, each twice as fine as the one below.
/// @{
const DynamicMap& signed_dynamic_map();
const DynamicMap& unsigned_dynamic_map();
/// @}

}  // namespace multicard
