#pragma once
/// \file Data parallelism with a replica on every rank.

#include <memory>
#include <vector>

#include "dist/GradientReducer.hpp"
#include "dist/TensorCollectives.hpp"
#include "train/Task.hpp"

namespace multicard {

/// ddp-ds: every rank holds the whole model and reads its own part of each global batch; gradients are summed in
/// buckets while backward goes on. Parameters and buffers start equal to rank 0's.
class ReplicatedStrategy {
 public:
  /// Collective: broadcasts rank 0's parameters and buffers. `task` and `collectives` must outlive the strategy.
  ReplicatedStrategy(Task& task, TensorCollectives& collectives, const GradientReducer::Options& options);

  /// What a rank reads.
  ReadPlan read_plan(std::int64_t first_step, std::int64_t last_step) const;

  /// Clears the gradients before the first micro-batch of a step.
  void begin_step();
  /// Backward of one micro-batch; the reduction of a bucket starts as soon as the last micro-batch has filled it.
  void backward(const Loss& loss, bool is_last);
  /// Collective. Waits until every gradient is the sum over all ranks.
  void finish_gradients();

  /// The gradients, in the order of the task's parameters.
  const std::vector<at::Tensor>& gradients() const { return reducer_.gradients(); }

  /// Collective. Rank 0's running statistics are the model's: gives them to all ranks.
  void share_buffers();

  std::size_t num_buckets() const { return reducer_.num_buckets(); }
  TensorCollectives& collectives() { return collectives_; }

 private:
  Task& task_;
  TensorCollectives& collectives_;
  GradientReducer reducer_;
};

}  // namespace multicard
