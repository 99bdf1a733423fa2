#pragma once
/// \file How long a step takes, from measurements over placements.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/rates/LinearInterpolation.hpp"

namespace multicard {

/// GPUs of a job on each of its nodes, in the order of the ring.
using GpuPlacement = std::vector<int>;

int num_gpus(const GpuPlacement& placement);
/// The rotation of a ring that is the lexicographically smallest, nodes without GPUs left out.
GpuPlacement normalised(const GpuPlacement& placement);
/// `gpus` on as few nodes as possible: full ones first.
GpuPlacement dense_placement(int gpus, int gpus_per_node);

/// Seconds of one step: all of it, and the part that gradients are exchanged in.
struct StepTime {
  double step = 0, sync = 0;
};

/// Measured step times of an application over placements and batch sizes per GPU, interpolated between measurements.
class StepTimeTable {
 public:
  /// Reads FOLDER/placements.csv and FOLDER/scalability.csv. \throws DataError
  explicit StepTimeTable(const std::string& folder);

  /// At a placement that was measured, linear in the batch size; else linear over the triangulation of (nodes, GPUs,
  /// batch size), with nodes capped at 16. None outside what was measured. Results are kept: not for several threads.
  std::optional<StepTime> at(const GpuPlacement& placement, int local_batch) const;

  int smallest_batch() const { return smallest_batch_; }
  int largest_batch() const { return largest_batch_; }
  /// GPUs of the largest placement measured.
  int most_gpus() const { return most_gpus_; }

 private:
  using ByBatch = std::map<int, StepTime>;

  void read_placements(const std::string& path);
  std::optional<StepTime> compute(const GpuPlacement& ring, int local_batch) const;

  std::map<GpuPlacement, ByBatch> measured_;
  std::unique_ptr<LinearInterpolation> between_;
  std::vector<SpacePoint> points_;
  std::vector<LinearInterpolation::Values> values_;
  int smallest_batch_ = 0, largest_batch_ = 0, most_gpus_ = 0;
  mutable std::map<std::pair<GpuPlacement, int>, std::optional<StepTime>> kept_;
};

}  // namespace multicard
