#include "train/ReplicatedStrategy.hpp"

#include <ATen/core/grad_mode.h>

namespace multicard {

namespace {

std::vector<at::Tensor> tensors_of(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(named.size());
  for (const NamedTensor& entry : named)
    tensors.push_back(entry.tensor);
  return tensors;
}

}  // namespace

ReplicatedStrategy::ReplicatedStrategy(Task& task, TensorCollectives& collectives,
                                       const GradientReducer::Options& options)
    : task_(task), collectives_(collectives), reducer_(tensors_of(task.parameters()), collectives, options) {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(task.parameters()), collectives_, 0);
  share_buffers();
}

ReadPlan ReplicatedStrategy::read_plan(std::int64_t first_step, std::int64_t last_step) const {
  return {collectives_.rank(), collectives_.size(), first_step, last_step};
}

void ReplicatedStrategy::begin_step() {
  reducer_.zero();
}

void ReplicatedStrategy::backward(const Loss& loss, bool is_last) {
  if (is_last) reducer_.arm();
  loss.value.backward();
}

void ReplicatedStrategy::finish_gradients() {
  reducer_.finish();
}

void ReplicatedStrategy::share_buffers() {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(task_.buffers()), collectives_, 0);
}

}  // namespace multicard
