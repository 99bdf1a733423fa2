#pragma once
/// \file What the strategies have in common: gradients in flat buffers, summed over ranks.

#include "dist/GradientReducer.hpp"
#include "train/Strategy.hpp"

namespace multicard {

/// A strategy around a GradientReducer; for modules/train only.
class ReducingStrategy : public Strategy {
 public:
  void begin_step() override { reducer_.zero(); }
  /// The reduction of a bucket may start as soon as the last micro-batch has filled it.
  void backward(const at::Tensor& loss, bool is_last) override;
  void finish_gradients() override { reducer_.finish(); }
  void share_buffers() override;
  const std::vector<at::Tensor>& gradients() const override { return reducer_.gradients(); }
  std::size_t num_buckets() const override { return reducer_.num_buckets(); }
  TensorCollectives& collectives() override { return collectives_; }

 protected:
  /// Collective: rank 0's parameters and buffers go to all.
  ReducingStrategy(Task& task, TensorCollectives& collectives, const GradientReducer::Options& options);
  /// Collective.
  void broadcast_parameters();
  Task& task() { return task_; }

 private:
  Task& task_;
  TensorCollectives& collectives_;
  GradientReducer reducer_;
};

}  // namespace multicard
