#pragma once
/// \file What ranks would take in each way to split, known before anything is built for it.

#include <cstdint>
#include <memory>

#include <c10/core/Device.h>

#include "comm/Communicator.hpp"
#include "memory/MemoryEstimate.hpp"
#include "tasks/interface/TaskScan.hpp"
#include "tasks/options/RunOptions.hpp"
#include "tasks/setup/ShardCandidates.hpp"

namespace multicard {

/// Predictions of one deck on one job's ranks, with the deck's micro-batch, or one row where that is chosen afterwards.
class ShardPredictions {
 public:
  /// Collective: opens the training set. \param scan of the deck, in which what is read of the data here is kept
  /// \throws as the task of the deck, on all ranks
  static std::unique_ptr<ShardPredictions> open(const RunOptions& options, const Communicator& communicator,
                                                at::Device device, TaskScan& scan);
  virtual ~ShardPredictions() = default;
  ShardPredictions(const ShardPredictions&) = delete;
  ShardPredictions& operator=(const ShardPredictions&) = delete;

  /// Not collective.
  /// @{
  /// Whether the model has what is split so. \throws UsageError and DataError about the model
  virtual bool can(Shard shard) const = 0;
  /// What a rank would take. \throws as MethodMemory and ImageMemory
  virtual MemoryEstimate of(const ShardCandidate& candidate) = 0;
  /// @}

 protected:
  ShardPredictions() = default;
};

}  // namespace multicard
