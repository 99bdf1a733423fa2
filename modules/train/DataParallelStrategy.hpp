#pragma once
/// \file Data parallelism led by rank 0, as torch.nn.DataParallel does it within one process.

#include "train/Strategy.hpp"

namespace multicard {

/// dp: rank 0 reads every global batch and scatters it, gradients are summed to rank 0 after backward, rank 0 updates
/// and broadcasts the parameters.
class DataParallelStrategy final : public Strategy {
 public:
  /// See make_strategy(). Of `reduction`, only the communication dtype counts.
  DataParallelStrategy(const StrategyParts& parts, const GradientReducer::Options& reduction,
                       const OptimizerOptions& optimizer);

  Reading reading() const override { return is_root_ ? Reading::root : Reading::none; }
  void start_reading(std::int64_t first_step, std::int64_t last_step) override;
  /// Waiting for rank 0's batch counts as data_wait, its way here as transfer.
  Batch next(StepClock& clock) override;
  void share_parameters() override { broadcast_parameters(); }

 private:
  bool is_root_;
  std::int64_t next_step_ = 0;
  at::Tensor arrival_;  ///< one value, summed once rank 0 has a batch: who waits for it waits for the batch
};

}  // namespace multicard
