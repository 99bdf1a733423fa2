#pragma once
/// \file Bandwidths that a run will have, measured before it.

#include <cstdint>
#include <optional>
#include <string>

#include "comm/Communicator.hpp"
#include "device/Device.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

struct AllReduceMeasure {
  std::string backend;
  std::int64_t payload_bytes = 0;
  double median_s = 0;
  double bus_gb_per_s = 0;  ///< nccl-tests' formula: 2 (R - 1) / R times payload / time; 0 with one rank
  bool correct = false;
};

struct ShardReadMeasure {
  std::string source;
  std::int64_t num_rows = 0, num_bytes = 0;
  double seconds = 0;   ///< of the slowest rank
  double gb_per_s = 0;  ///< over all ranks
};

/// Collective. Sums as many float32 values as the model of `options` has parameters, on the chosen device.
AllReduceMeasure measure_all_reduce(const RunOptions& options, const Communicator& world, const DeviceChoice& device);

/// Collective. All ranks read the training shards once, each its part. Without `shards` synthetic ones are written into
/// the working folder and removed.
ShardReadMeasure measure_shard_read(const std::optional<std::string>& shards, const Communicator& world);

}  // namespace multicard
