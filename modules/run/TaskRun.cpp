#include "run/TaskRun.hpp"

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "device/DeviceError.hpp"
#include "memory/MemoryEstimator.hpp"
#include "run/Resume.hpp"

namespace multicard {

TaskRun::TaskRun(const RunOptions& options, const std::string& deck, const Communicator& communicator,
                 const TaskRunOptions& task_options, TrainingParts reused, const std::optional<ShardChoice>& before,
                 const LogRank& /*building*/)
    : shard_(choose_shard(options, communicator, before, reused.scan, task_options.changes_ranks)),
      setup_(shard_.applied_to(options), communicator, std::move(reused)),
      phase_ranges_(setup_.device().device.is_cuda() ? make_phase_ranges([this] { return num_completed(); }) : nullptr),
      clock_(setup_.device().device),
      recorder_(setup_, deck, clock_.name()),
      profile_(setup_, clock_, recorder_),
      reporter_(setup_, task_options.verbosity, task_options.label),
      checkpoints_(options.run.output, options.run.keep_checkpoints, communicator),
      plan_(options.evaluate, setup_.steps_per_epoch(), setup_.num_steps),
      early_stopping_(options.evaluate),
      answers_(setup_.task->data().questions, options.evaluate.at_start),
      exchange_(setup_),
      status_writer_(task_options.status),
      checkpoint_on_stop_(task_options.checkpoint_on_stop) {
  clock_.observe(recorder_);
  if (phase_ranges_) clock_.observe(*phase_ranges_);
}

TaskRun::TaskRun(const RunOptions& options, const std::string& deck, const Communicator& communicator,
                 const TaskRunOptions& task_options, TrainingParts reused)
    : TaskRun(options, deck, communicator, task_options, std::move(reused),
              choice_in(task_options.checkpoint, options, communicator), LogRank(communicator.rank())) {
  const Working working(setup_);
  if (task_options.checkpoint) resume(resume_from(*task_options.checkpoint, setup_, checkpoints_.store()));
  estimate_memory(task_options.memory_gaps);
}

TaskRun::TaskRun(const RunOptions& options, const std::string& deck, const Communicator& communicator,
                 const TaskRunOptions& task_options, const TrainingState& state, TrainingParts reused)
    : TaskRun(options, deck, communicator, task_options, std::move(reused), choice_in(state.trainer),
              LogRank(communicator.rank())) {
  const Working working(setup_);
  setup_.task->finish_identity();
  agreed(communicator, [&] {
    check_resumable(state.trainer, setup_, state.source);
    with_known_errors([&] { setup_.load(state); });
  });
  resume(state);
  estimate_memory(task_options.memory_gaps);
}

void TaskRun::estimate_memory(MemoryGaps gaps) {
  if (setup_.options.run.chooses_micro_batch) micro_batch_choice_ = choose_micro_batch(setup_);
  memory_estimate_ = multicard::estimate_memory(setup_, gaps);
}

void TaskRun::describe() const {
  const Working working(setup_);
  reporter_.describe(memory_estimate_, {shard_.reason, micro_batch_choice_});
}

void TaskRun::describe_memory() {
  const Working working(setup_);
  for (const std::string& line : memory_table(setup_, memory_estimate_))
    log_info(line);
}

void TaskRun::resume(const TrainingState& state) {
  if (Watchdog* watchdog = setup_.communicator.watchdog()) watchdog->set_step(state.trainer.step);
  recorder_.resume(state.trainer.step, state.history);
  checkpoints_.resume(state.trainer.origin, state.best, state.history);
  answers_.resume(state.tables);
  early_stopping_.resume(state.trainer.extra);
  divergence_.resume(state.trainer.extra);
  exchange_.resume(state.trainer);
  last_saved_ = state.saved_step;
  has_begun_ = state.has_begun;
  stop_requested_ = state.stop_requested;
}

// What all ranks found ends the run in order, with a record. An error of one rank alone leaves here and aborts the job:
// the others may be inside a collective.
void TaskRun::guarded(const std::function<void()>& body) {
  const Working working(setup_);
  try {
    try {
      body();
    } catch (const c10::Error& error) {
      const std::string when = fmt::format(" in step {}", num_completed());
      if (const auto found = device_error(error, when, "predicted " + memory_estimate_.text())) throw *found;
      throw;
    }
  } catch (const Error& error) {
    if (error.scope() != Scope::all_ranks) throw;
    failure_ = error;
    status_ = RunStatus::failed;
    checkpoints_.settle();
  }
}

void TaskRun::begin() {
  const RunOptions& options = setup_.options;
  TrainerOptions settings;
  settings.first_step = recorder_.first_step();
  settings.num_steps = setup_.num_steps;
  settings.micro_batch = options.run.micro_batch;
  settings.results_lag = setup_.device().device.is_cuda() ? 1 : 0;
  const bool is_start = settings.first_step == 0 && !has_begun_;
  setup_.task->prepare(is_start ? Weights::at_start : Weights::trained);
  const TrainerParts parts{setup_.model(),
                           *setup_.strategy,
                           setup_.schedule,
                           clock_,
                           recorder_.steps(),
                           setup_.scaler ? &*setup_.scaler : nullptr,
                           setup_.average ? &*setup_.average : nullptr,
                           [this] { checkpoints_.let_change(); }};
  trainer_ = std::make_unique<Trainer>(parts, settings);
  if (exchange_.begin()) reporter_.exchange(exchange_.reasons());
  profile_.check(settings.first_step, settings.num_steps);
  reporter_.open_feed(recorder_);
  begin_status();
  if (options.run.keep_checkpoints > 0)
    agreed(setup_.communicator, [&] { checkpoints_.prepare(setup_.parts()); });  // memory may run out
  recorder_.start_sampling();
  recorder_.start_epoch();
  has_begun_ = true;
  if (options.evaluate.at_start && is_start) evaluate();
  if (is_start) evaluate_generation(GenerationPhase::start);
  evaluate_if_deferred();
  recorder_.start_epoch();
}

/// A run that was stopped where an evaluation was due has left it out: the sender of the signal may not wait.
void TaskRun::evaluate_if_deferred() {
  const std::int64_t first = recorder_.first_step();
  if (first == 0 || !plan_.is_due(first)) return;
  const auto& metrics = recorder_.history().metrics;
  const auto known = metrics.find("eval_loss");
  if (known != metrics.end() && !known->second.steps.empty() && known->second.steps.back() == first) return;
  evaluate();
  if (!best_ || best_->step != first) return;
  last_saved_ = -1;  // again, this time as the best
  save_checkpoint();
}

RunStatus TaskRun::advance(std::int64_t num_steps, StopMonitor* stop) {
  guarded([&] {
    if (!trainer_) begin();
    const auto has_ended = [&] { return trainer_->finished() || early_stopping_.is_due(); };
    for (std::int64_t i = 0; i < num_steps && status_ == RunStatus::running && !has_ended(); ++i)
      train_step(stop);
    if (status_ == RunStatus::running && has_ended()) status_ = RunStatus::complete;
  });
  return status_;
}

Requests TaskRun::take_requests() {
  const std::optional<StepResult>& last = trainer_->last_result();
  if (!last || last->step == last_handled_) return {};
  last_handled_ = last->step;
  return last->requests;
}

void TaskRun::train_step(StopMonitor* stop) {
  if (Watchdog* watchdog = setup_.communicator.watchdog()) watchdog->set_step(trainer_->num_completed());
  profile_.move_to(trainer_->num_completed());
  const Requests mine{stop_requested_ || (stop && stop->stop_requested()), stop && stop->take_checkpoint_request(),
                      checkpoints_.is_writing()};
  if (exchange_.step(*trainer_, mine)) reporter_.exchange(exchange_.reasons());
  recorder_.steps().add_step_times(clock_.take_finished());
  note_checkpoints();
  const std::int64_t done = trainer_->num_completed();
  if (const auto& last = trainer_->last_result()) {
    reporter_.step(recorder_.steps().steps(), done, *last);
    note_divergence(*last);
  }
  const Requests requests = take_requests();
  const bool is_stopping = requests.stop && !trainer_->finished(), epoch_ended = plan_.epoch_ended(done);
  if (epoch_ended || is_stopping) recorder_.add_train_seconds(epoch());
  if (is_stopping) {  // at once: the sender of the signal may not wait for an evaluation
    status_ = RunStatus::stopped;
    return;
  }
  if (plan_.is_due(done)) evaluate();
  const bool ends_early = early_stopping_.is_due() && !trainer_->finished();
  const std::int64_t every = setup_.options.run.checkpoint_every;
  const bool is_due = every > 0 && done % every == 0, is_best = best_ && best_->step == done;
  if ((is_due && !may_be_spoilt()) || is_best || requests.checkpoint) save_checkpoint();
  if (ends_early && !epoch_ended) recorder_.add_train_seconds(epoch());
  if (epoch_ended) recorder_.start_epoch();
}

void TaskRun::conclude(StopMonitor* stop) {
  if (!trainer_) begin();
  trainer_->finish();
  if (status_ == RunStatus::running) status_ = RunStatus::stopped;
  const int wants_stop = stop_requested_ || (stop && stop->stop_requested()) ? 1 : 0;
  if (answers_.is_enabled() && setup_.communicator.allreduce(wants_stop, ReduceOp::max) > 0)
    status_ = RunStatus::stopped;  // answers are generated when the run is resumed
  save_checkpoint();
  finish_checkpoints();
  if (status_ == RunStatus::complete) evaluate_generation(GenerationPhase::end);
}

RunResult TaskRun::finish(StopMonitor* stop) {
  const Working working(setup_);
  if (status_ != RunStatus::failed) guarded([&] { conclude(stop); });
  if (trainer_) profile_.close(num_completed());  // where it failed
  reporter_.pause();
  recorder_.steps().add_step_times(clock_.take_all());
  reporter_.status().end(status_, failure_);
  recorder_.complete_steps();
  recorder_.take_totals(memory_estimate_, checkpoints_.num_bytes());
  RunResult result;
  result.failure = failure_;
  result.summary = summary();
  result.summary.metrics = recorder_.steps().metrics();
  if (failure_) result.summary.error = failure_->what();
  result.rows = recorder_.rows();
  result.record = std::move(recorder_.steps().record());
  result.unit = setup_.data().unit();
  return result;
}

void TaskRun::evaluate() {
  DataSource* test = setup_.test_data();
  const std::int64_t done = trainer_->num_completed();
  if (test == nullptr || last_evaluated_ == done) return;
  profile_.close(done);
  const StatusReport::During evaluating = reporter_.status().during(WatchState::evaluating);
  const TimePoint start = SteadyClock::now();
  const Evaluation found = trainer_->evaluate([&] { return setup_.model().evaluate(*test, setup_.communicator); });
  last_evaluated_ = done;
  if (setup_.options.run.keep_best && done > 0 && checkpoints_.would_be_best(found.score)) best_ = {done, found.score};
  early_stopping_.note(done, setup_.communicator.broadcast_value(found.score));
  const double seconds = seconds_since(start);
  recorder_.add_seconds("evaluate", epoch(), seconds);
  reporter_.evaluation(found, done, seconds);
  if (early_stopping_.is_due() && !trainer_->finished()) reporter_.early_stop(early_stopping_.text(), done);
}

void TaskRun::evaluate_generation(GenerationPhase phase) {
  if (!answers_.is_due(phase)) return;
  profile_.close(num_completed());
  const StatusReport::During evaluating = reporter_.status().during(WatchState::evaluating);
  const TimePoint start = SteadyClock::now();
  std::optional<QuestionScore> score;
  double seconds_of_questions = 0;
  trainer_->evaluate_with([&] { score = answers_.evaluate(phase, seconds_of_questions); });
  recorder_.add_seconds("evaluate", epoch(), seconds_since(start));
  if (score) {
    const std::int64_t done = trainer_->num_completed();
    recorder_.steps().add_metric("eval_exact_match", done, score->exact_match());
    recorder_.steps().add_metric("eval_questions", done, static_cast<double>(score->num_questions));
  }
  reporter_.pause();
  if (score) reporter_.questions(*score, seconds_of_questions);
  if (!reporter_.is_quiet()) answers_.log(phase);
}

}  // namespace multicard
