#pragma once
/// \file The work on one batch, in parts that different threads can do.

#include <cstdint>
#include <variant>
#include <vector>

#include "data/BatchPool.hpp"
#include "data/ImageLoader.hpp"

namespace multicard {

/// A batch being made: begin, read, then prepare for all of its rows.
struct PendingBatch {
  ImageBatch batch;
  std::vector<std::int64_t> rows;
  at::Tensor pixels;  ///< bytes as stored
};

/// Makes one rank's batches. Any thread, but one thread at a time for the same batch and rows.
class BatchMaker {
 public:
  BatchMaker(const ImageShards& shards, const Sampler& sampler, const LoaderOptions& options, int rank, int num_ranks);

  /// Says what the batch of `step` holds and gives it memory.
  PendingBatch begin(std::int64_t step);
  /// Reads pixels and labels.
  void read(PendingBatch& pending) const;
  /// Resizes and normalises the rows [first, first + count) of the batch.
  void prepare(const PendingBatch& pending, std::int64_t first, std::int64_t count) const;

 private:
  const ImageShards& shards_;
  Sampler sampler_;
  int rank_, num_ranks_;
  ImageLayout layout_;
  std::int64_t size_;
  std::variant<Preprocessor<float>, Preprocessor<double>> preprocessor_;
  BatchPool pixels_, images_, labels_;
};

}  // namespace multicard
