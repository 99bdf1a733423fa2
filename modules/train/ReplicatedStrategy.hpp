#pragma once
/// \file Data parallelism with a replica on every rank.

#include "dist/GradientReducer.hpp"
#include "train/Strategy.hpp"

namespace multicard {

/// ddp and ddp-ds: every rank holds the whole model and updates it; gradients are summed in buckets while backward goes
/// on. Under ddp-ds a rank reads its own part of each global batch (Reading::part), under ddp the whole of it
/// (Reading::whole).
class ReplicatedStrategy final : public Strategy {
 public:
  /// Collective. See make_strategy().
  ReplicatedStrategy(Task& task, TensorCollectives& collectives, const GradientReducer::Options& options,
                     Reading reading = Reading::part);

  void start_reading(std::int64_t first_step, std::int64_t last_step) override;
  Batch next(StepClock& clock) override;
  void begin_step() override { reducer_.zero(); }
  /// The reduction of a bucket starts as soon as the last micro-batch has filled it.
  void backward(const at::Tensor& loss, bool is_last) override;
  void finish_gradients() override { reducer_.finish(); }
  bool updates() const override { return true; }
  void share_parameters() override {}
  void share_buffers() override;
  const std::vector<at::Tensor>& gradients() const override { return reducer_.gradients(); }
  std::size_t num_buckets() const override { return reducer_.num_buckets(); }
  TensorCollectives& collectives() override { return collectives_; }

 private:
  Task& task_;
  TensorCollectives& collectives_;
  GradientReducer reducer_;
  Reading reading_;
};

}  // namespace multicard
