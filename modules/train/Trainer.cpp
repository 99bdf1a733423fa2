#include "train/Trainer.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
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

}  // namespace

Trainer::Trainer(Task& task, ReplicatedStrategy& strategy, Optimizer& optimizer, const Schedule& schedule,
                 StepClock& clock, Recorder& recorder, const TrainerOptions& options)
    : task_(task),
      strategy_(strategy),
      optimizer_(optimizer),
      schedule_(schedule),
      clock_(clock),
      recorder_(recorder),
      options_(options),
      step_(options.first_step) {
  recorder_.record().first_step = options.first_step;
  task_.start_reading(strategy_.read_plan(options.first_step, options.num_steps));
}

void Trainer::forward_and_backward(const Batch& batch) {
  loss_sum_ = at::zeros({}, batch.inputs.options().dtype(at::kDouble));
  if (batch.num_rows == 0 && !task_.computes_empty_batches()) return;
  const int ranks = strategy_.collectives().size();
  // Where ranks meet inside forward and backward, all run as many micro-batches as the largest block has.
  const std::int64_t most = task_.computes_empty_batches() ? (batch.global_rows + ranks - 1) / ranks : batch.num_rows;
  const std::int64_t rows = options_.micro_batch.value_or(most);
  const std::int64_t num_micro_batches = (most + rows - 1) / rows;
  for (std::int64_t i = 0; i < num_micro_batches; ++i) {
    const std::int64_t first = std::min(i * rows, batch.num_rows);
    clock_.enter(Phase::forward);
    const Loss loss = task_.forward(batch.rows(first, std::min(rows, batch.num_rows - first)));
    loss_sum_ += loss.value.detach().to(at::kDouble);
    clock_.enter(Phase::backward);
    strategy_.backward(loss, i + 1 == num_micro_batches);
  }
}

at::Tensor Trainer::sum_over_ranks(const Requests& mine) {
  at::Tensor values = at::zeros({3}, loss_sum_.options());
  values[0].copy_(loss_sum_);
  if (mine.stop) values[1].fill_(1);
  if (mine.checkpoint) values[2].fill_(1);
  strategy_.collectives().sum(values);
  return values;
}

void Trainer::step(const Requests& mine) {
  clock_.begin_step();
  clock_.enter(Phase::data_wait);
  Batch batch = task_.next();
  clock_.enter(Phase::transfer);
  batch = task_.to_device(std::move(batch));
  clock_.enter(Phase::other);
  task_.begin_step(step_);
  strategy_.begin_step();

  forward_and_backward(batch);

  clock_.enter(Phase::reduce_wait);
  strategy_.finish_gradients();
  const at::Tensor sums = sum_over_ranks(mine);

  clock_.enter(Phase::update);
  const double learning_rate = schedule_.learning_rate(step_);
  const at::Tensor norm =
      options_.clip_norm ? optimizer_.clip_tensor(*options_.clip_norm) : optimizer_.gradient_norm_tensor();
  optimizer_.step(learning_rate);

  clock_.enter(Phase::other);
  recorder_.add_step_samples(batch.num_rows);
  StepResult result;
  result.step = step_;
  result.learning_rate = learning_rate;
  pending_.push_back({result, at::cat({sums, norm.to(at::kDouble).reshape({1})})});
  ++step_;
  read_results(options_.results_lag);
  clock_.end_step();
}

void Trainer::read_results(std::int64_t leave) {
  while (static_cast<std::int64_t>(pending_.size()) > leave) {
    StepResult result = pending_.front().result;
    const at::Tensor values = pending_.front().values.cpu();
    pending_.pop_front();
    result.loss = values[0].item<double>();
    result.requests = {values[1].item<double>() > 0, values[2].item<double>() > 0};
    result.gradient_norm = values[3].item<double>();
    recorder_.add_metric("train_loss", result.step, result.loss);
    recorder_.add_metric("learning_rate", result.step, result.learning_rate);
    recorder_.add_metric("grad_norm", result.step, result.gradient_norm);
    last_ = result;
    check_finite("loss", result.loss, result.step);
    check_finite("gradient norm", result.gradient_norm, result.step);
  }
}

std::optional<Evaluation> Trainer::evaluate() {
  read_results(0);
  clock_.pause();
  strategy_.share_buffers();
  const std::optional<Evaluation> found = task_.evaluate();
  if (found) {
    recorder_.add_metric("eval_loss", step_, found->loss);
    recorder_.add_metric("eval_accuracy", step_, found->accuracy);
  }
  clock_.resume();
  return found;
}

void Trainer::finish() {
  read_results(0);
  recorder_.add_step_times(clock_.take_all());
}

}  // namespace multicard
