#pragma once
/// \file Launches of AdamW with moments of 8 bits. S is float, c10::Half or c10::BFloat16; tensors lie without gaps.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "kernels/AdamwFactors.hpp"
#include "kernels/DynamicMap.hpp"

namespace multicard::rows {

/// Moments as codes of 8 bits or in float32.
struct MomentRow {
  std::uint8_t* codes;  ///< null: float32
  float* floats;        ///< the scales of the blocks of codes, or the moments themselves
};

/// A tensor of at least one value.
template <typename S>
struct AdamwItem {
  const S* gradient;
  S* values;
  std::int64_t count;
  MomentRow first, second;  ///< of the same kind
};

/// What a step says to all tensors; pointers are to the memory of the device.
struct AdamwRow {
  AdamwFactors factors;    ///< but for rate and correction
  const float* rates;      ///< rate and correction
  const float* found_inf;  ///< null: 0
  const DynamicMap *first_map, *second_map;
};

template <typename S>
cudaError_t launch_adamw(const AdamwItem<S>* items, std::int64_t count, const AdamwRow& step, cudaStream_t stream);

}  // namespace multicard::rows
