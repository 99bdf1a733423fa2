#pragma once
/// \file What one rank of a run will hold in memory.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "memory/MemoryEstimate.hpp"
#include "tasks/setup/TrainingSetup.hpp"

namespace multicard {

/// Bytes that this rank's tensors hold now on the device that it computes on; on a CPU those that are counted
/// (device/HostTensors.hpp).
std::int64_t allocated_bytes(at::Device device);

/// The ranks that sum gradients.
struct SummingRanks {
  std::int64_t num_ranks = 1;
  bool on_gpu = false;
  std::int64_t bucket_bytes = 0;  ///< where the deck leaves the size to the collectives
};

/// The most bytes of a gradient bucket that is not a single gradient.
std::int64_t bucket_bytes(const ExchangeOptions& options, const SummingRanks& ranks);

/// Bytes of sums whose type is another one than that of the gradients: on one rank the rounded bucket; over NCCL a
/// bucket, the other ranks' parts of it, and a part in float32. Ranks of CPUs round what they read in each other's
/// memory.
std::int64_t communication_bytes(const std::vector<at::Tensor>& gradients, const ExchangeOptions& options,
                                 const SummingRanks& ranks);

/// How a run of these options compresses gradients.
CompressionOptions compression_options(const RunOptions& options);

/// Estimates the memory of one rank from its tensors and from a forward and backward over few small rows, which are
/// made once. Collective where weights or the optimizer's state are split over ranks.
class RankMemory {
 public:
  explicit RankMemory(TrainingSetup& setup) : setup_(setup) {}

  /// Rows that it computes on in a full step, and at once.
  std::int64_t rows() const { return setup_.rows_of_rank(); }
  std::int64_t at_once() const { return std::min(rows(), setup_.options.run.micro_batch.value_or(rows())); }
  /// The largest of `at_once` rows.
  PartShape part(std::int64_t at_once) const { return setup_.data().largest_part(at_once, setup_.read_plan()); }

  /// All but what steps take.
  MemoryEstimate lasting() const;
  /// The first part of with(), of this rank's rows: what a device can fail in.
  void measure_passes();
  /// With `at_once` rows at a time. \throws c10::Error of a device that fails
  MemoryEstimate with(std::int64_t at_once);
  /// Total as `estimate`, the one with `at_once`, but with activation checkpointing if it is off, without if it is on;
  /// nothing for a model that has no activation checkpointing.
  std::optional<std::int64_t> switched_total(MemoryEstimate estimate, std::int64_t at_once);

  /// Where the device has memory of its own, only that counts.
  std::int64_t needed(const MemoryEstimate& estimate) const {
    return setup_.device().gpu ? estimate.on_device() : estimate.total();
  }
  std::int64_t needed_with_gaps(const MemoryEstimate& estimate) const {
    return needed(estimate) + gaps_between(needed(estimate));
  }
  /// What this rank can have, with what it has already.
  std::int64_t available(const MemoryEstimate& estimate) const;

 private:
  void add_copies(MemoryEstimate& estimate) const;
  StageBytes pass_bytes(std::int64_t at_once);
  Backward backward();
  /// \param evaluation bytes of it
  MemoryEstimate with_work(MemoryEstimate estimate, StageBytes work, std::int64_t evaluation);
  std::int64_t update_bytes();
  /// Of answers to prompts and questions; 0 where none are asked.
  std::int64_t answer_bytes() const;
  /// Of the test set, read and computed with `at_once` rows at a time; 0 where it is not scored.
  std::int64_t evaluation_bytes(std::int64_t at_once);

  TrainingSetup& setup_;
  std::optional<std::int64_t> update_bytes_;
};

}  // namespace multicard
