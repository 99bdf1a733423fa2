#include "train/Strategy.hpp"

#include <stdexcept>

#include <ATen/core/grad_mode.h>

#include "train/DataParallelStrategy.hpp"
#include "train/ReplicatedStrategy.hpp"

namespace multicard {

namespace {

GradientReducer::Options reduction_options(const ParallelOptions& parallel) {
  GradientReducer::Options options;
  options.bucket_mb = parallel.bucket_mb;
  options.overlap = parallel.overlap ? Overlap::yes : Overlap::no;
  options.comm_dtype = parallel.gradient_dtype;
  return options;
}

}  // namespace

Strategy::Strategy(const StrategyParts& parts, const GradientReducer::Options& reduction,
                   const OptimizerOptions& optimizer, Updates updates)
    : with_(parts),
      // Before the optimizer, which works on the reducer's gradients: views of its buckets.
      reducer_(tensors_of(parts.model.parameters()), parts.collectives, reduction),
      clip_norm_(optimizer.clip_norm) {
  if (updates == Updates::yes) optimizer_ = make_optimizer(optimizer, parts.model.parameters(), gradients());
}

void Strategy::synchronise() {
  broadcast_parameters();
  share_buffers();
}

void Strategy::start_reading(std::int64_t first_step, std::int64_t last_step) {
  with_.data.start_reading({with_.collectives.rank(), with_.collectives.size(), first_step, last_step, reading()});
}

std::int64_t Strategy::largest_shard(std::int64_t global_rows) const {
  const int num_ranks = with_.collectives.size();
  return (global_rows + num_ranks - 1) / num_ranks;
}

void Strategy::begin_step(std::int64_t step) {
  with_.model.begin_step(step, with_.collectives.rank());
  reducer_.zero();
}

void Strategy::backward(const at::Tensor& loss, bool is_last) {
  if (is_last) reducer_.arm();
  loss.backward();
}

void Strategy::prepare_update(const LossScaler* scaler, const StepStatus& status) {
  if (!optimizer_) return;
  if (scaler != nullptr) found_inf_ = scaler->unscale(gradients());
  // All ranks that update compute it from equal sums, with equal results. The status is summed, so that rank 0 alone
  // puts it there.
  const at::Tensor norm = clip_norm_ ? optimizer_->clip_tensor(*clip_norm_) : optimizer_->gradient_norm_tensor();
  if (with_.collectives.rank() != 0) return;
  status[StepStatus::kGradientNorm].copy_(norm);
  if (scaler != nullptr) status[StepStatus::kFoundInf].copy_(found_inf_);
}

void Strategy::apply_update(double learning_rate) {
  if (optimizer_) optimizer_->step(learning_rate, found_inf_);
}

NamedTensors Strategy::optimizer_state() const {
  return optimizer_ ? optimizer_->state() : NamedTensors{};
}

void Strategy::broadcast_parameters() {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(with_.model.parameters()), with_.collectives, 0);
}

void Strategy::share_buffers() {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(with_.model.buffers()), with_.collectives, 0);
}

std::unique_ptr<Strategy> make_strategy(const ParallelOptions& options, const OptimizerOptions& optimizer,
                                        const StrategyParts& parts) {
  const GradientReducer::Options reduction = reduction_options(options);
  switch (options.strategy) {
    case StrategyName::dp:
      return std::make_unique<DataParallelStrategy>(parts, reduction, optimizer);
    case StrategyName::ddp:
      return std::make_unique<ReplicatedStrategy>(parts, reduction, optimizer, Reading::replicated);
    case StrategyName::ddp_ds:
      return std::make_unique<ReplicatedStrategy>(parts, reduction, optimizer, Reading::sharded);
  }
  throw std::logic_error("a strategy without a class");
}

}  // namespace multicard
