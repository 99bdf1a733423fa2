#pragma once
/// \file Angles of rotary positions.

#include <ATen/core/Tensor.h>

namespace multicard {

/// cos and sin of position times frequency, times a factor that some models have.
struct RopeTable {
  at::Tensor cos, sin;  ///< [positions, head_dim / 2], float32, or float64 holding float32 values

  /// Those of `positions` int64 [tokens], in their order.
  RopeTable at_positions(const at::Tensor& positions) const {
    return {cos.index_select(0, positions), sin.index_select(0, positions)};
  }
};

}  // namespace multicard
