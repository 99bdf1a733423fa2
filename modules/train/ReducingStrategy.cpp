#include "train/ReducingStrategy.hpp"

#include <ATen/core/grad_mode.h>

namespace multicard {

ReducingStrategy::ReducingStrategy(Task& task, TensorCollectives& collectives, const GradientReducer::Options& options)
    : task_(task), collectives_(collectives), reducer_(tensors_of(task.parameters()), collectives, options) {
  broadcast_parameters();
  ReducingStrategy::share_buffers();
}

void ReducingStrategy::backward(const at::Tensor& loss, bool is_last) {
  if (is_last) reducer_.arm();
  loss.backward();
}

void ReducingStrategy::broadcast_parameters() {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(task_.parameters()), collectives_, 0);
}

void ReducingStrategy::share_buffers() {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(task_.buffers()), collectives_, 0);
}

}  // namespace multicard
