#pragma once
/// \file Jobs that do a number of equal steps, with a measured time for each count of GPUs.

#include <map>
#include <utility>

#include "scheduling/policy/JobModel.hpp"

namespace multicard {

/// Does `work` units at a rate that depends on the count of GPUs alone: where they are does not matter.
class TableModel : public JobModel {
 public:
  /// \param unit_seconds by GPUs: seconds of one unit of work. Other counts cannot be used.
  TableModel(std::map<int, double> unit_seconds, double work) : unit_seconds_(std::move(unit_seconds)), work_(work) {}

  int num_epochs() const override { return 1; }
  double progress_at(int epoch) const override { return epoch * work_; }
  int most_gpus() const override { return unit_seconds_.empty() ? 0 : unit_seconds_.rbegin()->first; }
  LocalBatch batch(const GpuPlacement& placement, int epoch) const override;
  double update_seconds(const GpuPlacement& placement, const LocalBatch& batch) const override;
  double update_gain(int global_batch, int epoch) const override;
  double predicted_seconds(int gpus) const override;
  double remaining_updates(int epoch) const override;
  double remaining_seconds(int gpus, int epoch, double progress) const override;

 private:
  std::map<int, double> unit_seconds_;
  double work_;
};

}  // namespace multicard
