#pragma once
/// \file How much memory training on images takes, known before anything is built for it.

#include <cstdint>
#include <memory>

#include <c10/core/Device.h>

#include "data/loading/ImageDataSource.hpp"
#include "memory/MemoryEstimate.hpp"
#include "tasks/images/ImageClassifier.hpp"
#include "tasks/options/RunOptions.hpp"
#include "tasks/setup/ShardCandidates.hpp"

namespace multicard {

/// What one of several ranks takes. Not collective.
class ImageMemory {
 public:
  /// \param training opened on these ranks, used as long as this
  ImageMemory(const RunOptions& options, const ImageDataSource& training, at::Device device, int num_ranks);

  /// Whether the deck's network has what is split: by `full` and `hybrid` convolutions that are trained.
  bool can(Shard shard) const;
  /// Of `rows` rows at a time. Makes the network, and measures forward and backward of few rows. \throws
  /// UsageError and DataError of the network, c10::Error of a device that fails
  MemoryEstimate with(std::int64_t rows, const ShardCandidate& split) const;

 private:
  ImageClassifier classifier(at::Device device) const;
  void add_state(MemoryEstimate& estimate, const ShardCandidate& split, const NamedTensors& parameters,
                 const NamedTensors& whole) const;
  void add_batches(MemoryEstimate& estimate) const;

  RunOptions options_;
  const ImageDataSource& training_;
  at::Device device_;
  int num_ranks_;
  std::int64_t before_;  ///< bytes of what was there
};

}  // namespace multicard
