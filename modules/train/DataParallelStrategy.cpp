#include "train/DataParallelStrategy.hpp"

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
    : ReducingStrategy(task, collectives, to_rank_0(options)),
      leads_(collectives.rank() == 0),
      arrival_(at::zeros({1}, gradients().front().options().dtype(at::kFloat).requires_grad(false))) {}

void DataParallelStrategy::start_reading(std::int64_t first_step, std::int64_t last_step) {
  next_step_ = first_step;
  task().start_reading({collectives().rank(), collectives().size(), first_step, last_step, reading()});
}

Batch DataParallelStrategy::next(StepClock& clock) {
  clock.enter(Phase::data_wait);
  const std::int64_t step = next_step_++;
  Batch whole;
  if (leads_) whole = task().next();
  collectives().sum(arrival_);
  clock.enter(Phase::transfer);
  if (leads_) whole = task().to_device(std::move(whole));
  std::vector<std::int64_t> rows;
  for (int rank = 0; rank < collectives().size(); ++rank)
    rows.push_back(block_of(task().rows_in(step), rank, collectives().size()).count);
  Batch mine = task().allocate(step, rows[static_cast<std::size_t>(collectives().rank())]);
  const std::vector<at::Tensor> from = leads_ ? whole.tensors() : std::vector<at::Tensor>{}, to = mine.tensors();
  for (std::size_t i = 0; i < to.size(); ++i)
    collectives().scatter_rows(leads_ ? packed(from[i]) : at::Tensor{}, packed(to[i]), rows, 0);
  return task().finish_input(std::move(mine));
}

}  // namespace multicard
