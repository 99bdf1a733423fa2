#pragma once
/// \file What splitting the optimizer's state over ranks makes of a prediction.

#include <cstdint>

#include "memory/MemoryEstimate.hpp"

namespace multicard {

/// Bytes of trained weights, but for the ranks.
struct SplitState {
  std::int64_t num_ranks = 1;
  std::int64_t in_parts = 0;       ///< of which each rank has a part
  std::int64_t whole = 0;          ///< of which each has all
  std::int64_t largest_whole = 0;  ///< the largest of these
  std::int64_t bucket_limit = 0;   ///< of gradients that are sent together
};

/// Leaves a rank its part of the state, of a checkpoint's copies of it and of weights that are split, and adds the room
/// in which ranks send each other whole weights: a bucket, and a part of it.
void split_state(MemoryEstimate& estimate, const SplitState& split);

}  // namespace multicard
