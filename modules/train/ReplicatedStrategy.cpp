#include "train/ReplicatedStrategy.hpp"

#include <ATen/core/grad_mode.h>

namespace multicard {

ReplicatedStrategy::ReplicatedStrategy(Task& task, TensorCollectives& collectives,
                                       const GradientReducer::Options& options, Reading reading)
    : task_(task),
      collectives_(collectives),
      reducer_(tensors_of(task.parameters()), collectives, options),
      reading_(reading) {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(task.parameters()), collectives_, 0);
  share_buffers();
}

void ReplicatedStrategy::start_reading(std::int64_t first_step, std::int64_t last_step) {
  task_.start_reading({collectives_.rank(), collectives_.size(), first_step, last_step, reading_});
}

Batch ReplicatedStrategy::next(StepClock& clock) {
  clock.enter(Phase::data_wait);
  Batch batch = task_.next();
  clock.enter(Phase::transfer);
  return task_.finish_input(task_.to_device(std::move(batch)));
}

void ReplicatedStrategy::backward(const at::Tensor& loss, bool is_last) {
  if (is_last) reducer_.arm();
  loss.backward();
}

void ReplicatedStrategy::share_buffers() {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(task_.buffers()), collectives_, 0);
}

}  // namespace multicard
