// A run as a value, between two steps.

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Estimate.hpp"
#include "comm/Agreement.hpp"
#include "device/DeviceError.hpp"
#include "run/TaskRun.hpp"
#include "train/MovedPieces.hpp"

namespace multicard {

namespace {

/// Collective. The rows that all ranks hold.
/// Rows move from any rank to all in rounds: ranks hold different numbers of them after moves between different numbers
/// of ranks, and all must enter equally many collectives. Number -1 stands for no row.
RankRows all_rows(const RankRows& mine, const Communicator& communicator) {
  RankRows all;
  std::vector<std::int64_t> numbers;
  for (const auto& [row, record] : mine)
    numbers.push_back(row);
  const auto most = communicator.allreduce(static_cast<std::int64_t>(numbers.size()), ReduceOp::max);
  numbers.resize(static_cast<std::size_t>(most), -1);
  for (const std::int64_t number : numbers) {
    const auto rows = communicator.allgather(number);
    const auto bytes = communicator.allgather(number < 0 ? "" : to_bytes(mine.at(static_cast<int>(number))));
    for (std::size_t rank = 0; rank < rows.size(); ++rank)
      if (rows[rank] >= 0) all[static_cast<int>(rows[rank])] = record_from_bytes(bytes[rank]);
  }
  return all;
}

}  // namespace

std::int64_t TaskRun::gradient_bytes() const {
  return compressed_bytes(setup_.strategy->gradients(), setup_.options.parallel.powersgd_rank,
                          exchange_.setting().gradient_dtype == CommDtype::same ? 0 : 2);
}

double TaskRun::last_loss() const {
  return trainer_ && trainer_->last_result() ? trainer_->last_result()->loss : kNone;
}

void TaskRun::begin_status() {
  const bool is_written = is_root() && status_writer_;
  reporter_.status().begin(recorder_, is_written ? status_writer_() : nullptr, memory_estimate_);
}

void TaskRun::checkpoint() {
  guarded([&] {
    if (!trainer_) begin();
    save_checkpoint();
  });
}

RunSummary TaskRun::summary() const {
  RunSummary summary = recorder_.summary(status_);
  answers_.add_to(summary);
  if (early_stopping_.is_due() && num_completed() < num_steps()) summary.integers["early_stop_step"] = num_completed();
  exchange_.add_to(summary);
  shard_.add_to(summary);
  if (const auto step = divergence_.diverged_step()) summary.integers["diverged_step"] = *step;
  return summary;
}

TrainerState TaskRun::trainer_state() const {
  TrainerState state = setup_.trainer_state(num_completed(), recorder_.deck());
  state.extra.merge(early_stopping_.state());
  state.extra.merge(divergence_.state());
  exchange_.add_to(state);
  shard_.add_to(state);
  return state;
}

void TaskRun::note_divergence(const StepResult& last) {
  const bool is_known = divergence_.diverged_step().has_value();
  divergence_.note(last.step, last.loss);
  const char* const advice = "Lower optimizer.learning_rate, add schedule.warmup_steps or set optimizer.clip_norm.";
  if (divergence_.is_divergent() && setup_.options.run.on_divergence == OnDivergence::stop)
    throw NumericalError("training has diverged", divergence_.text() + "; run.on_divergence is stop", advice)
        .on_all_ranks();
  if (is_known || !divergence_.diverged_step()) return;
  reporter_.divergence(fmt::format("training diverges: {}. {}", divergence_.text(), advice));
}

bool TaskRun::may_be_spoilt() const {
  return setup_.options.run.on_divergence == OnDivergence::stop && divergence_.is_suspicious();
}

void TaskRun::finish_checkpoints() {
  const StatusReport::During writing = reporter_.status().during(WatchState::writing);
  const TimePoint start = SteadyClock::now();
  checkpoints_.finish();
  note_checkpoints();
  recorder_.add_seconds("checkpoint", epoch(), seconds_since(start));
}

/// Forward updates running statistics, backward what compressed gradients carry on.
std::vector<at::Tensor> TaskRun::changing_before_update() const {
  std::vector<at::Tensor> changing = tensors_of(setup_.model().buffers());
  for (const NamedTensor& entry : setup_.strategy->compression_state())
    changing.push_back(entry.tensor);
  return changing;
}

// The copies come before losses that are still under way are read: on a GPU they run while the host waits for those.
void TaskRun::save_checkpoint() {
  const std::int64_t done = trainer_->num_completed();
  const bool is_wanted =
      setup_.options.run.keep_checkpoints > 0 || (status_ == RunStatus::stopped && checkpoint_on_stop_);
  if (!is_wanted || last_saved_ == done) return;
  profile_.close(done);
  const StatusReport::During writing = reporter_.status().during(WatchState::writing);
  const TimePoint start = SteadyClock::now();
  recorder_.add_train_seconds(epoch());
  clock_.pause();
  setup_.prepare_to_write();
  checkpoints_.copy(setup_.parts(), changing_before_update());
  setup_.strategy->release_gathered();
  trainer_->read_all_results();  // a step that was not finite is never saved
  recorder_.steps().add_step_times(clock_.take_all());
  CheckpointContent content{trainer_state(), summary(), std::nullopt};
  content.state.files = setup_.task->model_files();
  if (best_ && best_->step == done) content.best = best_->score;
  recorder_.take_totals(memory_estimate_, checkpoints_.num_bytes());
  checkpoints_.write(std::move(content), recorder_.steps().record(), recorder_.steps().metrics());
  clock_.resume();
  last_saved_ = done;
  recorder_.steps().add_metric("checkpoint_stall_s", done, seconds_since(start));
  recorder_.add_seconds("checkpoint", epoch(), seconds_since(start));
}

/// Collective.
void TaskRun::note_checkpoints() {
  // A step before the newest checkpoint was begun says nothing of it.
  const auto& last = trainer_->last_result();
  if (checkpoints_.writes_pieces() && last && !last->requests.is_writing && last->step >= last_saved_) {
    const TimePoint start = SteadyClock::now();
    clock_.pause();
    checkpoints_.complete();
    clock_.resume();
    recorder_.add_seconds("checkpoint", epoch(), seconds_since(start));
  }
  checkpoints_.poll();
  for (const WrittenCheckpoint& written : checkpoints_.take_written())
    recorder_.steps().add_metric("checkpoint_write_s", written.step, written.seconds);
}

// On a GPU the results of the newest step are not read yet: a request or an error in it belongs to the steps before the
// move and must not get lost with this run.
void TaskRun::settle_steps() {
  recorder_.add_train_seconds(epoch());
  profile_.close(num_completed());
  clock_.pause();
  trainer_->read_all_results();
  recorder_.steps().add_step_times(clock_.take_all());
  const Requests requests = take_requests();
  stop_requested_ = stop_requested_ || requests.stop;
  if (requests.checkpoint) save_checkpoint();
  const TimePoint start = SteadyClock::now();
  checkpoints_.wait();
  note_checkpoints();
  recorder_.add_seconds("checkpoint", epoch(), seconds_since(start));
}

/// Collective. Of all ranks that ever ran; those of this part only if it has done a step.
History TaskRun::whole_history() {
  const History& before = recorder_.history();
  History whole = before;
  whole.metrics = recorder_.steps().metrics();
  const std::size_t num_steps = recorder_.steps().steps().size();
  whole.rows = all_rows(num_steps > 0 ? recorder_.rows() : before.rows, setup_.communicator);
  if (num_steps == 0) return whole;
  if (before.num_steps == 0) whole.first_step = recorder_.first_step();
  whole.num_steps += static_cast<std::int64_t>(num_steps);
  whole.num_ranks = std::max(before.num_ranks, setup_.communicator.size());
  whole.segments = recorder_.summary(status_).segments;
  return whole;
}

TrainingState TaskRun::collect() {
  if (status_ != RunStatus::running) throw std::logic_error("a run that has ended cannot be collected");
  if (setup_.shard_groups->ranks().copies != nullptr)
    throw std::logic_error("a run of several copies that are split cannot be collected");
  const Working working(setup_);
  if (trainer_) guarded([&] { settle_steps(); });
  if (failure_) throw Error(*failure_);
  TrainingState state;
  state.stop_requested = stop_requested_;
  setup_.prepare_to_write();
  recorder_.take_totals(memory_estimate_, checkpoints_.num_bytes());
  state.trainer = trainer_state();
  state.trainer.origin = checkpoints_.origin();
  state.source = fmt::format("the run after step {}", num_completed());
  const std::optional<Error> failure = error_of([&] {
    agreed(setup_.communicator, [&] {  // memory may run out
      with_known_errors([&] {
        const CheckpointParts parts = setup_.parts();
        state.pieces = held_pieces(parts);
        if (setup_.communicator.is_root()) state.parts = host_copies(parts);
      });
    });
  });
  setup_.strategy->release_gathered();
  if (failure) throw Error(*failure);
  state.history = whole_history();
  state.tables = summary().tables;
  state.best = checkpoints_.best();
  state.has_begun = has_begun_;
  state.saved_step = checkpoints_.has_failed() ? -1 : last_saved_;
  if (trainer_) clock_.resume();
  reporter_.pause();  // what the files that others watch have to say is said by this run's root
  return state;
}

std::vector<TensorPiece> TaskRun::wanted_pieces(const TrainingState& state) const {
  return multicard::wanted_pieces(setup_.parts(), state);
}

void TaskRun::pieces_have_arrived() {
  if (SplitParameters* const split = setup_.model().split_parameters()) split->values_changed();
}

}  // namespace multicard
