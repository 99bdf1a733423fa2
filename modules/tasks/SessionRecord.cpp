// What a session remembers: its record, its summary and its checkpoints.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/RegularFile.hpp"
#include "comm/Agreement.hpp"
#include "device/PeakRate.hpp"
#include "state/TensorFile.hpp"
#include "tasks/Session.hpp"

namespace multicard {

namespace {

// Names in trainer.json.
constexpr const char* kLossScale = "loss_scale";
constexpr const char* kScaleUpdates = "loss_scale_updates_since_change";

/// The records that travel with `checkpoint`, OUTPUT/checkpoints/NAME.
std::string records_beside(const std::string& checkpoint) {
  const std::filesystem::path folder = std::filesystem::absolute(checkpoint + "/").lexically_normal().parent_path();
  return (folder.parent_path().parent_path() / "records" / (folder.filename().string() + ".h5")).string();
}

/// \throws DataError when the checkpoint has a scale that no run comes to, or half of it
void restore_scaler(LossScaler& scaler, const TrainerState& state, const std::string& checkpoint) {
  const auto scale = state.extra.find(kLossScale), updates = state.extra.find(kScaleUpdates);
  if (scale == state.extra.end()) return;  // of a run in another precision
  const bool is_whole = std::isfinite(scale->second) && scale->second > 0 && updates != state.extra.end() &&
                        updates->second >= 0 && updates->second <= LossScaler::kGrowthInterval;
  if (!is_whole)
    throw DataError(fmt::format("checkpoint {} has a damaged trainer.json", checkpoint),
                    fmt::format("{} or {} is impossible", kLossScale, kScaleUpdates));
  scaler.restore(scale->second, static_cast<std::int64_t>(updates->second));
}

}  // namespace

void Session::check_continues(const TrainerState& state, const std::string& checkpoint) const {
  if (state.global_batch != global_batch_)
    throw UsageError(fmt::format("the global batch has changed from {} to {} rows", state.global_batch, global_batch_),
                     fmt::format("{} was made with the former", checkpoint),
                     "Use as many ranks as before, or set run.global_batch instead of run.batch_per_rank.");
  for (const auto& [name, now] : task_->model_identity())
    if (const auto before = state.text.find(name); before != state.text.end() && before->second != now)
      throw UsageError(fmt::format("{} of the model has changed from {} to {}", name, before->second, now),
                       fmt::format("{} was made with the former", checkpoint),
                       "Put it back, set another run.output, or run.resume=never to start over.");
  const auto numbers = training_data().identity();
  const bool same_data = std::all_of(numbers.begin(), numbers.end(), [&](const auto& number) {
    const auto before = state.extra.find(number.first);
    return before == state.extra.end() || before->second == number.second;
  });
  if (state.samples_seen != rows_before(state.step) || !same_data)
    throw UsageError(fmt::format("data.train has changed: {} holds other data than {} was made with",
                                 options_.data.train, checkpoint),
                     "", "Put them back, set another run.output, or run.resume=never to start over.");
  if (state.step > num_steps_)
    throw UsageError(fmt::format("run.steps or run.epochs ask for {} steps, but {} are done", num_steps_, state.step),
                     fmt::format("{} holds them", checkpoint), "A run can only grow; run.resume=never starts over.");
}

/// Rows that all ranks saw in the steps before `step`.
std::int64_t Session::rows_before(std::int64_t step) const {
  const std::int64_t per_epoch = training_data().steps_per_epoch();
  std::int64_t of_epoch = 0, rest = 0;
  for (std::int64_t i = 0; i < per_epoch; ++i) {
    of_epoch += training_data().rows_in(i);
    if (i < step % per_epoch) rest += training_data().rows_in(i);
  }
  return step / per_epoch * of_epoch + rest;
}

/// One rank sums nothing; it is called by what more ranks would use.
std::string Session::backend_name() const {
  const std::string name = collectives_->name();
  return name != "null" ? name : device_.device.is_cuda() ? "nccl" : "mpi";
}

/// On ranks that do not update, the optimizer's is missing.
CheckpointParts Session::checkpoint_parts() const {
  CheckpointParts parts{task_->model_part()};
  if (strategy_->updates()) parts.push_back({kOptimizerFile, strategy_->optimizer_state()});
  if (average_) parts.push_back({kAverageFile, average_->state()});
  return parts;
}

void Session::restore(const std::string& checkpoint) {
  agreed(communicator_, [&] {
    const at::NoGradGuard no_grad;
    const TrainerState state = CheckpointStore::read_state(checkpoint);
    check_continues(state, checkpoint);
    first_step_ = state.step;
    try {
      restore_content(checkpoint, state);
    } catch (const Error& error) {
      throw CheckpointStore::with_older_one(error, checkpoint);
    }
    checkpoints_.continue_from(checkpoint, state,
                               checkpoint == options_.run.resume ? Resumption::named : Resumption::automatic);
  });
  restore_records(checkpoint);
  recorder_.continue_metrics(history_.metrics);
  const CheckpointStore& store = checkpoints_.store();
  const bool is_own = agreed(communicator_, [&] { return communicator_.is_root() && store.owns(checkpoint); });
  if (communicator_.broadcast_value(is_own ? 1 : 0)) last_saved_ = first_step_;
}

void Session::restore_content(const std::string& checkpoint, const TrainerState& state) {
  if (communicator_.is_root()) CheckpointStore::verify(checkpoint);
  for (const CheckpointPart& part : checkpoint_parts())
    copy_into(part.tensors, TensorFile(checkpoint + "/" + part.file));
  if (scaler_) restore_scaler(*scaler_, state, checkpoint);
}

/// Rank 0 alone reads all of the file to see that it is the checkpoint's.
void Session::restore_records(const std::string& checkpoint) {
  const std::string records = records_beside(checkpoint);
  enum Finding { absent, another, right };
  const Finding seen = agreed(communicator_, [&] {
    if (!communicator_.is_root() || !is_there(records)) return absent;
    return CheckpointStore::has_records(checkpoint, records) ? right : another;
  });
  const int found = communicator_.broadcast_value(static_cast<int>(seen));
  if (found == another)
    log_warning(
        fmt::format("{} is not the file that was written with {}: the results of this run begin without the "
                    "timings and metrics that it held.",
                    records, checkpoint));
  if (found != right) return;
  agreed(communicator_, [&] {
    try {
      const RunData before = ResultsFile::open(records, Seal::is_checked).run("main");
      history_ = history_of(before, communicator_.rank(), communicator_.size());
      take_up_answers(before.summary);
      checkpoints_.continue_records(before);
    } catch (const Error& error) {
      throw CheckpointStore::with_older_one(error, checkpoint);
    }
  });
}

void Session::save_checkpoint() {
  const std::int64_t done = trainer_->num_completed();
  const bool wanted = options_.run.keep_checkpoints > 0 || (status_ == "stopped" && checkpoint_on_stop_);
  if (!wanted || last_saved_ == done) return;
  const TimePoint start = SteadyClock::now();
  add_train_seconds();
  clock_.pause();
  checkpoints_.copy(checkpoint_parts(), tensors_of(task_->model().buffers()));  // forward updates running statistics
  trainer_->read_all_results();  // a step that was not finite is never saved
  recorder_.add_step_times(clock_.take_all());
  CheckpointContent content{{done, rows_before(done), global_batch_, deck_yaml_}, summarise(), std::nullopt};
  content.state.extra = training_data().identity();
  content.state.text = task_->model_identity();
  content.state.files = task_->model_files();
  if (scaler_) {
    content.state.extra[kLossScale] = scaler_->value();
    content.state.extra[kScaleUpdates] = static_cast<double>(scaler_->updates_since_change());
  }
  if (best_step_ == done) content.best = best_score_;
  take_totals();
  add_rates();
  checkpoints_.write(std::move(content), recorder_.record(), recorder_.metrics());
  clock_.resume();
  last_saved_ = done;
  recorder_.add_metric("checkpoint_stall_s", done, seconds_since(start));
  add_checkpoint_stall(seconds_since(start));
}

void Session::finish_checkpoints() {
  const TimePoint start = SteadyClock::now();
  checkpoints_.finish();
  note_checkpoints();
  add_checkpoint_stall(seconds_since(start));
}

void Session::note_checkpoints() {
  checkpoints_.poll();
  for (const WrittenCheckpoint& written : checkpoints_.take_written())
    recorder_.add_metric("checkpoint_write_s", written.step, written.seconds);
}

void Session::add_checkpoint_stall(double seconds) {
  recorder_.add_epoch_seconds("checkpoint", epoch(), seconds);
  stalled_s_ += seconds;
}

void Session::complete_record() {
  recorder_.add_step_times(clock_.take_all());
  recorder_.record().samples.resize(recorder_.steps().size());
  for (auto& [name, counts] : recorder_.record().counts)
    counts.resize(recorder_.steps().size());
  take_totals();
  add_rates();
}

/// What is counted since the session began, as it stands now.
void Session::take_totals() {
  RankRecord& record = recorder_.record();
  record_memory(record);
  record.communication = collectives_->totals();
  const auto [training, test] = task_->data();
  record.transfers["host_to_device"] = training.bytes_to_device() + (test ? test->bytes_to_device() : 0);
}

/// Of text: tokens and operations per second over all ranks, by rank 0's clock, of the steps recorded since.
void Session::add_rates() {
  if (!options_.is_language()) return;
  const std::vector<StepTimes>& steps = recorder_.steps();
  for (; num_rated_ < steps.size(); ++num_rated_) {
    const std::int64_t step = first_step_ + static_cast<std::int64_t>(num_rated_);
    const double seconds = steps[num_rated_].step;
    recorder_.add_metric("tokens_per_s", step, static_cast<double>(training_data().work_in(step)) / seconds);
    recorder_.add_metric("model_flops_per_s", step, task_->flops_in(step) / seconds);
  }
}

RunSummary Session::summarise() const {
  RunSummary summary;
  summary.name = "main";
  summary.status = status_;
  summary.skip_steps = options_.skip_steps;
  summary.text = {{"task", options_.task},
                  {"strategy", options_.parallel.strategy},
                  {"backend", backend_name()},
                  {"precision", options_.precision},
                  {"scaling", options_.run.batch_per_rank ? "weak" : "strong"},
                  {"device", device_.description},
                  {"deck", deck_yaml_}};
  summary.integers = {{"ranks", communicator_.size()},
                      {"threads", threads_},
                      {"global_batch", global_batch_},
                      {"pin_memory", options_.data.pin_memory ? 1 : 0},
                      {"repeat", 0}};
  if (const auto peak = peak_flops_per_s(device_.description, precision_from(options_.precision)))
    summary.reals["peak_flops_per_s"] = *peak;
  task_->add_attributes(summary);
  add_answers(summary);
  summary.integers["ranks"] = std::max(communicator_.size(), history_.num_ranks);
  summary.segments = history_.segments;
  summary.segments.push_back({first_step_, communicator_.size()});
  return summary;
}

}  // namespace multicard
