#pragma once
/// \file How much memory a tuning method takes, known before anything is built for it.

#include <cstdint>
#include <optional>
#include <vector>

#include <c10/core/Device.h>

#include "memory/MemoryEstimate.hpp"
#include "sharding/ShardedNetwork.hpp"
#include "tasks/options/RunOptions.hpp"
#include "tasks/setup/ShardCandidates.hpp"

namespace multicard {

/// What one method takes, for any number of tokens at a time.
class MethodMemory {
 public:
  /// Measures forward and backward of the deck's model with one and with two of its layers: what the second takes each
  /// further one takes too. Every token counts as a target. Weights are not read. \throws UsageError where the method
  /// cannot start from the deck's model, c10::Error of a device that fails
  MethodMemory(const RunOptions& options, at::Device device, int num_ranks);

  /// Of `rows` rows of `length` tokens at a time; of preference pairs each answer has that length. A rank reads the
  /// deck's rows of a step, or `rows` where those are more. \param split_by one of shard_candidates()
  MemoryEstimate with(std::int64_t rows, std::int64_t length, const ShardCandidate& split_by) const;

 private:
  /// \param equal with layers that are adapted alike
  void measure_split(const RunOptions& equal);
  std::optional<Gathered> gathered(Shard shard) const;
  void split(MemoryEstimate& estimate, const ShardCandidate& split) const;
  void add_unequal_blocks();
  void add_batches(MemoryEstimate& estimate, std::int64_t rows, std::int64_t width) const;

  RunOptions options_;
  at::Device device_;
  int num_ranks_;
  std::vector<SplitBlock> blocks_;  ///< for their sizes
  std::int64_t num_layers_ = 0, chunk_ = 0;
  MemoryEstimate lasting_;                                                   ///< of all layers, not split
  std::int64_t largest_weight_ = 0, largest_vector_ = 0, bucket_limit_ = 0;  ///< bytes
  std::vector<MeasuredPair> passes_;                                         ///< of one layer and of two
  std::vector<MeasuredPair> split_passes_;  ///< likewise, where they are trained and split
};

}  // namespace multicard
