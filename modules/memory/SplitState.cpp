#include "memory/SplitState.hpp"

#include <algorithm>

namespace multicard {

void split_state(MemoryEstimate& estimate, const SplitState& split) {
  if (estimate.copies > 0)
    estimate.copies -= (estimate.optimizer + split.in_parts) / split.num_ranks * (split.num_ranks - 1);
  estimate.optimizer /= split.num_ranks;
  const std::int64_t bucket = std::max(split.largest_whole, std::min(split.bucket_limit, split.whole));
  estimate.other += bucket + bucket / split.num_ranks;
}

}  // namespace multicard
