#include "scheduling/policy/LocalBatch.hpp"

#include <algorithm>

namespace multicard {

namespace {

int ceil_ratio(int a, int b) {
  return (a + b - 1) / b;
}

}  // namespace

LocalBatch split_batch(int batch, int gpus, const BatchLimits& limits, SingleGpuAccumulation single) {
  LocalBatch split;
  const int local = ceil_ratio(batch, gpus);
  // Counts micro-batches before the last one, which is the one that synchronises.
  split.accumulation = ceil_ratio(local, limits.largest_local) - 1;
  if (gpus == 1 && (single == SingleGpuAccumulation::always || batch > limits.first))
    split.accumulation = std::max(split.accumulation, 1);
  split.rows = std::min(ceil_ratio(local, split.accumulation + 1), limits.largest / (gpus * (split.accumulation + 1)));
  return split;
}

}  // namespace multicard
