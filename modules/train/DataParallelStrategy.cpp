#include "train/DataParallelStrategy.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "base/Blocks.hpp"

namespace multicard {

namespace {

/// The same memory as a tensor whose rows follow each other in order: what collectives take.
at::Tensor packed(const at::Tensor& tensor) {
  return tensor.is_contiguous() ? tensor : tensor.permute({0, 2, 3, 1});
}

GradientReducer::Options to_rank_0(GradientReducer::Options options) {
  options.overlap = Overlap::no;
  options.destination = Destination::root;
  return options;
}

}  // namespace

DataParallelStrategy::DataParallelStrategy(Task& task, TensorCollectives& collectives,
                                           const GradientReducer::Options& options)
    : task_(task),
      collectives_(collectives),
      reducer_(tensors_of(task.parameters()), collectives, to_rank_0(options)),
      arrival_(at::zeros({1}, reducer_.gradients().front().options().requires_grad(false))) {
  share_parameters();
  share_buffers();
}

void DataParallelStrategy::start_reading(std::int64_t first_step, std::int64_t last_step) {
  next_step_ = first_step;
  const Reading reading = collectives_.rank() == 0 ? Reading::all : Reading::none;
  task_.start_reading({collectives_.rank(), collectives_.size(), first_step, last_step, reading});
}

Batch DataParallelStrategy::next(StepClock& clock) {
  clock.enter(Phase::data_wait);
  const bool leads = collectives_.rank() == 0;
  const std::int64_t step = next_step_++;
  Batch whole;
  if (leads) whole = task_.next();
  collectives_.sum(arrival_);
  clock.enter(Phase::transfer);
  if (leads) whole = task_.to_device(std::move(whole));
  std::vector<std::int64_t> rows;
  for (int rank = 0; rank < collectives_.size(); ++rank)
    rows.push_back(block_of(task_.rows_in(step), rank, collectives_.size()).count);
  Batch mine = task_.allocate(step, rows[static_cast<std::size_t>(collectives_.rank())]);
  const std::vector<at::Tensor> from = leads ? whole.tensors() : std::vector<at::Tensor>{}, to = mine.tensors();
  for (std::size_t i = 0; i < to.size(); ++i)
    collectives_.scatter_rows(leads ? packed(from[i]) : at::Tensor{}, packed(to[i]), rows, 0);
  return task_.finish_input(std::move(mine));
}

void DataParallelStrategy::backward(const at::Tensor& loss, bool is_last) {
  if (is_last) reducer_.arm();
  loss.backward();
}

void DataParallelStrategy::share_parameters() {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(task_.parameters()), collectives_, 0);
}

void DataParallelStrategy::share_buffers() {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(task_.buffers()), collectives_, 0);
}

}  // namespace multicard
