#pragma once
/// \file Data parallelism with a replica on every rank.

#include "train/Strategy.hpp"

namespace multicard {

/// ddp and ddp-ds: every rank holds the whole model and updates it; gradients are summed in buckets while backward goes
/// on. Under ddp-ds a rank reads its own part of each global batch (Reading::sharded), under ddp the whole of it
/// (Reading::replicated).
class ReplicatedStrategy : public Strategy {
 public:
  /// See make_strategy().
  ReplicatedStrategy(const StrategyParts& parts, const GradientReducer::Options& reduction,
                     const OptimizerOptions& optimizer, Reading reading, Updates updates = Updates::yes)
      : Strategy(parts, reduction, optimizer, updates), reading_(reading) {}

  Reading reading() const override { return reading_; }
  Batch next(StepClock& clock) override;
  void share_parameters() override {}

 private:
  Reading reading_;
};

}  // namespace multicard
