#include "train/Strategy.hpp"

#include <set>
#include <stdexcept>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "train/DataParallelStrategy.hpp"
#include "train/ReplicatedStrategy.hpp"
#include "train/ShardedStrategy.hpp"
#include "train/TrainingState.hpp"

namespace multicard {

namespace {

// Where weights are gathered, sums of the others' gradients may not start while backward runs: a rank without rows,
// which has no gradients, would start them in another order than the others.
GradientReducer::Options reduction_options(const ParallelOptions& parallel, const StrategyParts& parts,
                                           SkipsSteps skips) {
  const bool is_split = parts.model.split_parameters() != nullptr || parallel.splits_weights(parts.collectives.size());
  GradientReducer::Options options;
  options.setting = parallel;
  options.overlap = parallel.overlap && !is_split ? Overlap::yes : Overlap::no;
  options.compression = {parallel.powersgd_rank, parallel.powersgd_start_step, skips == SkipsSteps::yes};
  return options;
}

std::vector<at::Tensor> whole_ones(std::vector<at::Tensor> parameters, const SplitParameters* split) {
  if (split == nullptr) return parameters;
  const std::set<const at::TensorImpl*> members = members_of(split->rows());
  std::erase_if(parameters, [&](const at::Tensor& one) { return members.contains(one.unsafeGetTensorImpl()); });
  return parameters;
}

}  // namespace

Strategy::Strategy(const StrategyParts& parts, const GradientReducer::Options& reduction,
                   const OptimizerOptions& optimizer, Updates updates)
    : parts_(parts),
      groups_(parts.model.parameters(), decay_of(optimizer)),
      whole_(whole_ones(groups_.tensors(), parts.model.split_parameters())),
      // Before the optimizer, which works on the reducer's gradients: views of its buckets.
      reducer_(whole_, parts.collectives, reduction),
      clip_norm_(optimizer.clip_norm) {
  for (const NamedTensor& parameter : groups_.parameters())
    if (const at::Tensor& gradient = parameter.tensor.grad(); gradient.defined()) gradients_.push_back(gradient);
  if (updates == Updates::yes) optimizer_ = make_optimizer(optimizer, updated_tensors(groups_, gradients()));
}

void Strategy::synchronise() {
  broadcast_parameters();
  share_buffers();
}

void Strategy::start_reading(std::int64_t first_step, std::int64_t last_step) {
  parts_.data.start_reading({parts_.collectives.rank(), parts_.collectives.size(), first_step, last_step, reading()});
}

std::int64_t Strategy::largest_shard(std::int64_t global_rows) const {
  const int num_ranks = parts_.collectives.size();
  return (global_rows + num_ranks - 1) / num_ranks;
}

void Strategy::begin_step(std::int64_t step, const LossScaler* scaler) {
  parts_.model.begin_step(step, parts_.collectives.rank());
  reducer_.begin_step(step, scaler != nullptr ? scaler->factor() : at::Tensor{});
  if (SplitParameters* const split = parts_.model.split_parameters()) split->zero_gradients();
}

void Strategy::backward(const at::Tensor& loss, bool is_last) {
  if (is_last) reducer_.arm();
  loss.backward();
}

// One after the other: sums over groups and over all ranks must not be under way at once, since NCCL promises no
// progress then.
void Strategy::finish_gradients() {
  if (SplitParameters* const split = parts_.model.split_parameters()) split->finish_gradients();
  reducer_.finish();
}

at::Tensor Strategy::combined(const at::Tensor& norms, at::Tensor& found_inf) const {
  (void)found_inf;
  return total_norm(norms);
}

void Strategy::prepare_update(const LossScaler* scaler, const StepStatus& status) {
  if (!updates()) return;
  if (scaler != nullptr) {
    found_inf_ = scaler->unscale(optimizer_ ? optimizer_->gradients() : std::vector<at::Tensor>{});
    reducer_.settle(found_inf_);
  }
  // All ranks that update compute it from equal sums, with equal results. The status is summed, so that rank 0 alone
  // puts it there.
  const at::Tensor norm = combined(optimizer_ ? optimizer_->gradient_norms() : at::Tensor(), found_inf_);
  if (clip_norm_ && optimizer_) optimizer_->clip(norm, *clip_norm_);
  if (parts_.collectives.rank() != 0) return;
  status[StepStatus::kGradientNorm].copy_(norm);
  if (scaler != nullptr) status[StepStatus::kFoundInf].copy_(found_inf_);
}

void Strategy::apply_update(double learning_rate) {
  if (optimizer_) optimizer_->step(learning_rate, found_inf_);
}

NamedTensors Strategy::optimizer_state() const {
  return optimizer_ ? optimizer_->state() : NamedTensors{};
}

void Strategy::load_optimizer_state(const NamedTensors& state) {
  copy_by_name(optimizer_state(), state);
}

void Strategy::load_parameters(const NamedTensors& model, const NamedTensors& state) {
  copy_by_name(model, state, parts_.model.split_parameters());
}

std::int64_t Strategy::optimizer_bytes() const {
  return optimizer_ ? bytes_of(optimizer_->state()) : 0;
}

NamedTensors Strategy::compression_state() const {
  const std::vector<std::string> names = groups_.names();
  NamedTensors state;
  for (const CompressionState& kept : reducer_.compression_state()) {
    state.push_back({"error." + names[kept.parameter], kept.error});
    state.push_back({"q." + names[kept.parameter], kept.q});
  }
  return state;
}

void Strategy::broadcast_parameters() {
  const at::NoGradGuard no_grad;
  broadcast_tensors(whole_, parts_.collectives, 0);
  SplitParameters* const split = parts_.model.split_parameters();
  if (split == nullptr || split->ranks().copies == nullptr) return;
  for (const ParameterRow& row : split->rows())  // files of another node may differ
    broadcast_tensors({row.values}, *split->ranks().copies, 0);
  split->values_changed();
}

void Strategy::share_buffers() {
  const at::NoGradGuard no_grad;
  broadcast_tensors(tensors_of(parts_.model.buffers()), parts_.collectives, 0);
}

std::unique_ptr<Strategy> make_strategy(const ParallelOptions& options, const OptimizerOptions& optimizer,
                                        const StrategyParts& parts, SkipsSteps skips) {
  const GradientReducer::Options reduction = reduction_options(options, parts, skips);
  switch (options.strategy) {
    case StrategyName::dp:
      return std::make_unique<DataParallelStrategy>(parts, reduction, optimizer);
    case StrategyName::ddp:
      return std::make_unique<ReplicatedStrategy>(parts, reduction, optimizer, Reading::replicated);
    case StrategyName::ddp_ds:
      if (parts.model.split_parameters() != nullptr ||
          (options.shard == Shard::optimizer && parts.collectives.size() > 1))
        return std::make_unique<ShardedStrategy>(parts, reduction, optimizer);
      return std::make_unique<ReplicatedStrategy>(parts, reduction, optimizer, Reading::sharded);
  }
  throw std::logic_error("a strategy without a class");
}

}  // namespace multicard
