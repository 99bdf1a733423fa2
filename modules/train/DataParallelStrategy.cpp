#include "train/DataParallelStrategy.hpp"

#include <utility>

#include <ATen/ops/zeros.h>

#include "base/Blocks.hpp"

namespace multicard {

namespace {

/// The same memory as a tensor whose rows follow each other in order: what collectives take.
at::Tensor packed(const at::Tensor& tensor) {
  // Images in channels_last have the memory of [N, H, W, C]: blocks of N are contiguous in either layout.
  return tensor.is_contiguous() ? tensor : tensor.permute({0, 2, 3, 1});
}

GradientReducer::Options to_rank_0(GradientReducer::Options options) {
  options.overlap = Overlap::no;
  options.destination = Destination::root;
  return options;
}

}  // namespace

DataParallelStrategy::DataParallelStrategy(const StrategyParts& parts, const GradientReducer::Options& reduction,
                                           const OptimizerOptions& optimizer)
    : Strategy(parts, to_rank_0(reduction), optimizer, parts.collectives.rank() == 0 ? Updates::yes : Updates::no),
      is_root_(parts.collectives.rank() == 0),
      arrival_(at::zeros({1}, gradients().front().options().dtype(at::kFloat).requires_grad(false))) {}

void DataParallelStrategy::start_reading(std::int64_t first_step, std::int64_t last_step) {
  next_step_ = first_step;
  Strategy::start_reading(first_step, last_step);
}

Batch DataParallelStrategy::next(StepClock& clock) {
  const auto& [model, data, collectives] = parts();
  clock.enter(Phase::data_wait);
  const std::int64_t step = next_step_++;
  Batch whole;
  if (is_root_) whole = data.next();
  // The other ranks know nothing of rank 0's input pipeline; this sum is where they wait for it, so that its time is
  // not taken for that of the transfer.
  collectives.all_reduce(arrival_);
  clock.enter(Phase::transfer);
  if (is_root_) whole = data.to_device(std::move(whole));
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(collectives.size()));
  for (int rank = 0; rank < collectives.size(); ++rank)
    // The same blocks as under ddp-ds: the strategies train on the same rows on the same ranks.
    rows.push_back(block_of(data.rows_in(step), rank, collectives.size()).count);
  Batch mine = data.allocate(step);
  const std::vector<at::Tensor> from = is_root_ ? whole.tensors() : std::vector<at::Tensor>{}, to = mine.tensors();
  for (std::size_t i = 0; i < to.size(); ++i)
    collectives.scatter_rows(is_root_ ? packed(from[i]) : at::Tensor{}, packed(to[i]), rows, 0);
  return data.finish(std::move(mine));
}

}  // namespace multicard
