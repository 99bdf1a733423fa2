#pragma once
/// \file Jobs of applications whose step times and convergence were measured.

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "scheduling/policy/JobModel.hpp"
#include "scheduling/replay/Application.hpp"

namespace multicard {

/// Trains an application; how large the batches are is left to the derived class. Results are kept: not for several
/// threads.
class PublishedModel : public JobModel {
 public:
  int num_epochs() const override { return application_->convergence().num_epochs(); }
  double progress_at(int epoch) const override { return application_->convergence().progress_at(epoch); }
  int most_gpus() const override { return most_gpus_; }
  double update_seconds(const GpuPlacement& placement, const LocalBatch& batch) const override;
  double update_gain(int global_batch, int epoch) const override;
  double predicted_seconds(int gpus) const override;
  double remaining_updates(int epoch) const override;
  double remaining_seconds(int gpus, int epoch, double progress) const override;

 protected:
  /// \param batch the user's, between the application's first and largest.
  PublishedModel(std::shared_ptr<const Application> application, int batch, int gpus_per_node, int largest_batch);

  const Application& application() const { return *application_; }
  int user_batch() const { return batch_; }

 private:
  /// At the beginning of every epoch, and after the last one: seconds to the end on `gpus` GPUs, densely placed.
  const std::vector<double>& seconds_to_end(int gpus) const;

  std::shared_ptr<const Application> application_;
  int batch_, gpus_per_node_, most_gpus_;
  mutable std::vector<std::vector<double>> to_end_;  ///< by GPUs
};

/// At the global batch that the user chose.
class FixedBatchModel : public PublishedModel {
 public:
  FixedBatchModel(std::shared_ptr<const Application> application, int batch, int gpus_per_node)
      : PublishedModel(std::move(application), batch, gpus_per_node, batch) {}

  LocalBatch batch(const GpuPlacement& placement, int epoch) const override;
};

/// At the batch that makes the most progress a second with the gradient noise of the epoch, of 50 between the
/// application's first and its largest, evenly on a logarithmic scale (Pollux, OSDI 2021).
class AdaptiveBatchModel : public PublishedModel {
 public:
  AdaptiveBatchModel(const std::shared_ptr<const Application>& application, int batch, int gpus_per_node);

  LocalBatch batch(const GpuPlacement& placement, int epoch) const override;

 private:
  LocalBatch best_batch(const GpuPlacement& placement, int epoch) const;

  mutable std::map<std::pair<GpuPlacement, int>, LocalBatch> best_;
};

/// The splits over `gpus` GPUs that adaptive jobs choose from.
std::vector<LocalBatch> candidate_batches(int gpus, const BatchLimits& limits);

}  // namespace multicard
