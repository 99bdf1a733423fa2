#pragma once
/// \file Data parallelism with a replica on every rank.

#include "train/ReducingStrategy.hpp"

namespace multicard {

/// ddp and ddp-ds: every rank holds the whole model and updates it; gradients are summed in buckets while backward goes
/// on. Under ddp-ds a rank reads its own part of each global batch (Reading::part), under ddp the whole of it
/// (Reading::whole).
class ReplicatedStrategy final : public ReducingStrategy {
 public:
  /// Collective. See make_strategy().
  ReplicatedStrategy(Task& task, TensorCollectives& collectives, const GradientReducer::Options& options,
                     Reading reading = Reading::part);

  Reading reading() const override { return reading_; }
  void start_reading(std::int64_t first_step, std::int64_t last_step) override;
  Batch next(StepClock& clock) override;
  bool updates() const override { return true; }
  void share_parameters() override {}

 private:
  Reading reading_;
};

}  // namespace multicard
