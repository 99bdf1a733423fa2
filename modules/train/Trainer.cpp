#include "train/Trainer.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

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
  const std::int64_t rows = options_.micro_batch.value_or(std::max<std::int64_t>(batch.num_rows, 1));
  loss_sum_ = at::zeros({}, batch.inputs.options().dtype(at::kDouble));
  if (batch.num_rows == 0 && !task_.computes_empty_batches()) return;
  std::int64_t first = 0;
  do {
    const std::int64_t count = std::min(rows, batch.num_rows - first);
    clock_.enter(Phase::forward);
    const Loss loss = task_.forward(batch.rows(first, count));
    loss_sum_ += loss.value.detach().to(at::kDouble);
    clock_.enter(Phase::backward);
    first += count;
    strategy_.backward(loss, first >= batch.num_rows);
  } while (first < batch.num_rows);
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
    if (!std::isfinite(result.loss))
      throw NumericalError(fmt::format("the loss of step {} is {}", result.step, result.loss),
                           "training has diverged or the input holds non-finite values",
                           "Lower optimizer.learning_rate, add schedule.warmup_steps or set optimizer.clip_norm.")
          .on_all_ranks();
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
