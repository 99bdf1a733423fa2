#pragma once
/// \file How a global batch is split over GPUs and accumulation steps.

namespace multicard {

/// Rows that a GPU computes at once, and how often it does so before the update beyond the first time.
struct LocalBatch {
  int rows = 0, accumulation = 0;

  int global(int gpus) const { return rows * gpus * (accumulation + 1); }
  bool operator==(const LocalBatch&) const = default;
};

/// What batches an application can be trained with.
struct BatchLimits {
  int first = 1;           ///< smallest global batch, and the one that learning rates were tuned for
  int largest = 1;         ///< global
  int smallest_local = 1;  ///< rows of one GPU at once
  int largest_local = 1;
};

/// Which batches a single GPU accumulates for even where it could compute them at once: its gradient noise is measured
/// from the difference of two gradients.
enum class SingleGpuAccumulation { above_first, always };

/// The split of `batch` over `gpus`, rounded up and kept below limits.largest.
LocalBatch split_batch(int batch, int gpus, const BatchLimits& limits,
                       SingleGpuAccumulation single = SingleGpuAccumulation::above_first);

}  // namespace multicard
