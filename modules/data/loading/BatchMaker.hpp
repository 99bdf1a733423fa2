#pragma once
/// \file The work on one batch, in parts that different threads can do.

#include <cstdint>
#include <optional>
#include <vector>

#include "data/loading/BatchPool.hpp"
#include "data/loading/HostPreprocessor.hpp"
#include "data/loading/ImageLoader.hpp"

namespace multicard {

/// A batch being made: begin, read, then prepare for all of its rows.
struct PendingBatch {
  ImageBatch batch;
  std::vector<std::int64_t> rows;
  at::Tensor pixels;   ///< bytes as stored, [num_rows, H, W, C]; the batch's own in the device pipeline
  at::Tensor windows;  ///< int32 [num_rows, 5] with augmentation; the batch's own in the device pipeline
};

/// Makes one rank's batches. Any thread, but one thread at a time for the same batch and rows.
class BatchMaker {
 public:
  BatchMaker(const ImageShards& shards, const Sampler& sampler, const LoaderOptions& options, int rank, int num_ranks);

  /// Says what the batch of `step` holds and gives it memory.
  PendingBatch begin(std::int64_t step);
  /// Whether prepare() reads the pixels, because many threads do it better than one.
  bool reads_in_prepare() const { return shards_.reads_in_parallel(); }
  /// Reads labels, and pixels unless prepare() does.
  void read(PendingBatch& pending) const;
  /// Makes the rows [first, first + count) of the batch ready.
  void prepare(const PendingBatch& pending, std::int64_t first, std::int64_t count) const;

 private:
  void read_pixels(const PendingBatch& pending, std::int64_t first, std::int64_t count) const;
  void draw_windows(const PendingBatch& pending, std::int64_t first, std::int64_t count) const;

  const ImageShards& shards_;
  Sampler sampler_;
  int rank_, num_ranks_;
  InputPipeline pipeline_;
  std::int64_t size_;
  std::optional<Augmentation> augmentation_;
  HostPreprocessor preprocessor_;
  BatchPool pixels_, windows_, images_, labels_;
  LoadingTimes* times_;
};

}  // namespace multicard
