#include "train/Trainer.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

void check_finite(const char* what, double value, std::int64_t step) {
  if (std::isfinite(value)) return;
  throw NumericalError(fmt::format("the {} of step {} is {}", what, step, value),
                       "training has diverged or the input holds non-finite values",
                       "Lower optimizer.learning_rate, add schedule.warmup_steps or set optimizer.clip_norm.")
      .on_all_ranks();
}

/// Scaling cures gradients that overflow float16; when it has shrunk the loss this far, they are not finite in
/// themselves.
void check_scale(double scale, std::int64_t step) {
  if (scale >= LossScaler::kLeast) return;
  throw NumericalError(fmt::format("the gradients of step {} are not finite at a loss scale of {}", step, scale),
                       "training has diverged, or the network overflows float16",
                       "Lower optimizer.learning_rate, or use precision bf16 or fp32.")
      .on_all_ranks();
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, const TrainerOptions& options)
    : parts_(parts),
      options_(options),
      step_(options.first_step),
      sums_(parts.model.sums()),
      readback_(make_readback(parts.model.parameters().front().tensor.device())) {
  parts_.recorder.record().first_step = options.first_step;
  parts_.strategy.start_reading(options.first_step, options.num_steps);
}

void Trainer::work_on(const Batch& batch) {
  parts_.clock.enter(Phase::other);
  parts_.strategy.begin_step(step_, parts_.scaler);
  status_ = StepStatus(batch.inputs.device(), sums_.num_metrics());
  forward_and_backward(batch);
  parts_.recorder.add_step_samples(batch.num_rows);
  parts_.recorder.add_step_counts(sums_.finish(status_));
}

void Trainer::forward_and_backward(const Batch& batch) {
  const bool runs_on_empty = parts_.model.runs_on_empty_batch();
  if (batch.num_rows == 0 && !runs_on_empty) return;
  // Where ranks communicate inside forward and backward, all run as many micro-batches as the largest shard has.
  const std::int64_t most = runs_on_empty ? parts_.strategy.largest_shard(batch.global_rows) : batch.num_rows;
  const std::int64_t rows = options_.micro_batch.value_or(most);
  const std::int64_t num_micro_batches = (most + rows - 1) / rows;
  for (std::int64_t i = 0; i < num_micro_batches; ++i) {
    const std::int64_t first = std::min(i * rows, batch.num_rows);
    parts_.clock.enter(Phase::forward);
    const Loss loss = parts_.model.forward(batch.rows(first, std::min(rows, batch.num_rows - first)));
    // Losses are parts of the mean over the global batch (Loss::value), so that micro-batches and ranks just add up.
    status_[StepStatus::kLoss].add_(loss.value.detach());
    sums_.add(loss, status_);
    parts_.clock.enter(Phase::backward);
    parts_.strategy.backward(parts_.scaler ? parts_.scaler->scale(loss.value) : loss.value, i + 1 == num_micro_batches);
  }
}

void Trainer::update_and_sum(double learning_rate) {
  parts_.clock.enter(Phase::reduce_wait);
  // Started before the update, waited for after it: the two overlap.
  const std::unique_ptr<Work> sum = parts_.strategy.start_all_reduce(status_);
  parts_.clock.enter(Phase::update);
  parts_.before_change();
  parts_.strategy.apply_update(learning_rate);
  parts_.clock.enter(Phase::reduce_wait);
  sum->wait();
  // Nothing to do where all ranks have updated; under dp rank 0's weights go to the others.
  parts_.strategy.share_parameters();
  parts_.clock.enter(Phase::update);
  // The factor that this step was scaled by, copied before update() changes it. update() takes the summed found_inf:
  // under dp only rank 0 has looked at the gradients, and the scales of all ranks must stay equal.
  readback_->start(parts_.scaler ? std::vector{status_.values(), parts_.scaler->factor()}
                                 : std::vector{status_.values()});
  if (parts_.scaler) parts_.scaler->update(status_[StepStatus::kFoundInf].to(at::kFloat));
  if (parts_.average) parts_.average->update();
}

void Trainer::step(const Requests& mine) {
  parts_.clock.begin_step();
  work_on(parts_.strategy.next(parts_.clock));
  // Requests go with the loss: one small sum a step lets all ranks know of a signal that one of them has received.
  if (mine.stop) status_[StepStatus::kStop].fill_(1);
  if (mine.checkpoint) status_[StepStatus::kCheckpoint].fill_(1);
  if (mine.is_writing) status_[StepStatus::kWriting].fill_(1);

  parts_.clock.enter(Phase::reduce_wait);
  parts_.strategy.finish_gradients();
  parts_.clock.enter(Phase::update);
  parts_.strategy.prepare_update(parts_.scaler, status_);
  StepResult result;
  result.step = step_;
  result.learning_rate = parts_.schedule.learning_rate(step_);
  update_and_sum(result.learning_rate);

  parts_.clock.enter(Phase::other);
  pending_.push_back(result);
  ++step_;
  read_results(options_.results_lag);
  parts_.clock.end_step();
}

void Trainer::read_results(std::int64_t leave) {
  while (static_cast<std::int64_t>(pending_.size()) > leave) {
    StepResult result = pending_.front();
    pending_.pop_front();
    // Sums over ranks, equal on all of them: so all throw at the same step, without a further word between them.
    const std::vector<double> status = readback_->take();
    const double scale = parts_.scaler ? status.back() : 1;
    result.loss = status[StepStatus::kLoss];
    result.requests = {status[StepStatus::kStop] > 0, status[StepStatus::kCheckpoint] > 0,
                       status[StepStatus::kWriting] > 0};
    result.gradient_norm = status[StepStatus::kGradientNorm];
    result.sums = sums_.named(status);
    result.skipped = status[StepStatus::kFoundInf] > 0;
    record(result, scale);
    last_ = result;
    check_finite("loss", result.loss, result.step);
    if (!result.skipped) check_finite("gradient norm", result.gradient_norm, result.step);
    check_scale(scale, result.step);
  }
}

void Trainer::record(const StepResult& result, double scale) {
  parts_.recorder.add_metric("train_loss", result.step, result.loss);
  parts_.recorder.add_metric("learning_rate", result.step, result.learning_rate);
  parts_.recorder.add_metric("grad_norm", result.step, result.gradient_norm);
  for (const auto& [name, sum] : result.sums)
    parts_.recorder.add_metric(name, result.step, sum);
  if (!parts_.scaler) return;
  parts_.recorder.add_metric("loss_scale", result.step, scale);
  parts_.recorder.add_metric("skipped", result.step, result.skipped ? 1 : 0);
}

void Trainer::evaluate_with(const std::function<void()>& body) {
  // A training that has diverged must not spend an evaluation, and a stop that was requested must be known.
  read_results(0);
  parts_.clock.pause();
  std::optional<ExponentialMovingAverage::Applied> averaged;
  parts_.before_change();
  if (parts_.average) averaged.emplace(*parts_.average);
  parts_.strategy.share_buffers();
  body();
  averaged.reset();  // the weights come back before the clock resumes
  parts_.clock.resume();
}

Evaluation Trainer::evaluate(const std::function<Evaluation()>& evaluate) {
  Evaluation found;
  evaluate_with([&] { found = evaluate(); });
  parts_.recorder.add_metric("eval_loss", step_, found.loss);
  parts_.recorder.add_metric("eval_samples", step_, static_cast<double>(found.samples));
  for (const auto& [name, value] : found.values)
    parts_.recorder.add_metric("eval_" + name, step_, value);
  return found;
}

void Trainer::finish() {
  read_results(0);
  parts_.recorder.add_step_times(parts_.clock.take_all());
}

}  // namespace multicard
