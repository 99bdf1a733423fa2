#pragma once
/// \file What a replayed job computes, and how fast.

#include <vector>

#include "scheduling/policy/LocalBatch.hpp"
#include "scheduling/rates/Machine.hpp"
#include "scheduling/rates/StepTimeTable.hpp"

namespace multicard {

/// The work of one job: epochs of progress, each update of which takes a time and brings a gain that depend on the
/// placement and the batch. A placement that a job cannot run on has infinite update times.
class JobModel {
 public:
  virtual ~JobModel() = default;

  virtual int num_epochs() const = 0;
  /// Progress at which epoch `epoch` ends, counted from 1.
  virtual double progress_at(int epoch) const = 0;
  /// Most GPUs that the job can use.
  virtual int most_gpus() const = 0;

  /// The batch on `placement` during `epoch`, counted from 0. Called when GPUs change and after each part of a round.
  virtual LocalBatch batch(const GpuPlacement& placement, int epoch) const = 0;
  virtual double update_seconds(const GpuPlacement& placement, const LocalBatch& batch) const = 0;
  /// Progress of one update.
  virtual double update_gain(int global_batch, int epoch) const = 0;

  /// \name What policies may know in advance
  /// @{
  /// Seconds from one update to the next on `gpus` GPUs, densely placed; infinite where the job cannot run.
  virtual double predicted_seconds(int gpus) const = 0;
  /// Updates that are left after epoch `epoch` had begun, at the batch that the user chose.
  virtual double remaining_updates(int epoch) const = 0;
  /// Seconds from `progress` in `epoch` to the end on `gpus` GPUs, densely placed; infinite where the job cannot run.
  virtual double remaining_seconds(int gpus, int epoch, double progress) const = 0;
  /// @}

 protected:
  JobModel() = default;
  JobModel(const JobModel&) = default;
  JobModel& operator=(const JobModel&) = default;
};

/// Numbers of GPUs that a job with `model` can use alone on the machine: any within a node, and whole nodes.
std::vector<int> usable_counts(const JobModel& model, const Machine& machine);

}  // namespace multicard
