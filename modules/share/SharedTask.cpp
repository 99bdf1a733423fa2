#include "share/SharedTask.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Quantiles.hpp"
#include "comm/Agreement.hpp"
#include "tasks/setup/NormValues.hpp"
#include "watch/StatusSwitch.hpp"
#include "watch/StatusWriter.hpp"

namespace multicard {

namespace {

constexpr std::size_t kWarmUp = 2;  ///< first steps on new ranks, which do not count
constexpr std::size_t kNewest = 50;
constexpr std::size_t kEnough = 5;  ///< steps after the warm-up that are worth a decision

// Means, not medians or a sample: the time of rare slow steps (checkpoints, waits for data) must reach the rates.
std::vector<double> in_parts(std::span<const StepTimes> steps) {
  const std::size_t num_parts = std::min(steps.size(), kMostReported);
  std::vector<double> means;
  for (std::size_t part = 0; part < num_parts; ++part) {
    const std::size_t first = part * steps.size() / num_parts, end = (part + 1) * steps.size() / num_parts;
    double sum = 0;
    for (std::size_t i = first; i < end; ++i)
      sum += steps[i].step;
    means.push_back(sum / static_cast<double>(end - first));
  }
  return means;
}

/// The status of a task, for its root: others follow it when the task moves.
std::shared_ptr<StatusWriter> status_writer(const RunSettings& run) {
  std::shared_ptr<StatusWriter> writer;
  if (!is_status_wanted()) return writer;
  const StatusFiles files{run.output, run.prometheus.value_or("")};
  // The other ranks know nothing of it: what goes wrong here must not end the job.
  if (const auto error = error_of([&] { writer = std::make_shared<StatusWriter>(status_of_process("run"), files); }))
    log_warning(fmt::format("the status of {} is not written: {}", run.output, error->what()));
  return writer;
}

TaskRunOptions quiet_run(const RunSettings& run, const std::optional<std::string>& checkpoint) {
  TaskRunOptions options{Verbosity::quiet, checkpoint, true,
                         MemoryGaps::reserve};  // one that runs out ends all of them
  options.status = [run] { return status_writer(run); };
  return options;
}

}  // namespace

SharedTask::SharedTask(ShareTaskOptions shared, const RunOptions& options, const std::string& deck,
                       const Communicator& world, TaskHistory history)
    : shared_(std::move(shared)),
      options_(options),
      run_(options, deck, world, quiet_run(options.run, history.checkpoint)),
      history_(std::move(history)) {}

TaskNeeds SharedTask::needs() const {
  const std::int64_t rows = options_.run.global_batch;
  const auto can_run_on = [options = options_, rows](int ranks) {
    return least_norm_values(options, rows, ranks) != 1;
  };
  return {shared_.name, shared_.weight, shared_.min_ranks, shared_.max_ranks, rows, can_run_on};
}

// With several ranks, an error of one alone leaves the others in a collective that never ends; it must reach the caller
// and end the job. One rank has no others: the task ends, and the share continues.
void SharedTask::guard_lone_rank(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& found) {
    if (!is_alone()) throw;
    lone_error_ = outcome_of(found);
  }
}

void SharedTask::advance(std::int64_t num_steps, StopMonitor& stop) {
  guard_lone_rank([&] { run_.run()->advance(num_steps, &stop); });
}

void SharedTask::checkpoint() {
  guard_lone_rank([&] { run_.run()->checkpoint(); });
}

bool SharedTask::has_ended() const {
  return outcome_ || lone_error_ || run_.run()->status() != RunStatus::running;
}

TaskEnd SharedTask::finish(StopMonitor& stop, const std::function<void(const RunResult&)>& store) {
  if (lone_error_) throw Error(*lone_error_);
  const RunResult result = run_.finish(&stop);
  store(result);
  if (result.failure) return {TaskState::failed, result.failure->code(), true, result.failure->what()};
  return {result.summary.status == "stopped" ? TaskState::stopped : TaskState::complete, ExitCode::complete, true, {}};
}

void SharedTask::conclude(StopMonitor& stop, const std::function<void(const RunResult&)>& store) {
  // The report is taken before the run ends, since nothing is left of it afterwards.
  if (outcome_) return;
  last_ = report();
  last_.has_ended = true;
  try {
    outcome_ = finish(stop, store);
  } catch (const Error& found) {
    if (found.scope() != Scope::all_ranks && !is_alone()) throw;
    outcome_ = TaskEnd{TaskState::failed, found.code(), false, found.what()};
  }
}

void SharedTask::move_to(const std::optional<Communicator>& group) {
  run_.move_to(group);
  group_size_ = group ? group->size() : 0;
  num_reported_ = 0;
}

double SharedTask::step_s() const {
  if (outcome_) return last_.step_s;
  const std::vector<StepTimes>& steps = run_.run()->steps();
  std::vector<double> newest;
  // The first steps on new ranks compile kernels, choose algorithms and fill pipelines.
  for (std::size_t i = std::max(kWarmUp, steps.size() - std::min(steps.size(), kNewest)); i < steps.size(); ++i)
    newest.push_back(steps[i].step);
  return newest.empty() ? 0 : median(newest);
}

TaskReport SharedTask::report() const {
  if (outcome_) return last_;
  const TaskRun& run = *run_.run();
  TaskReport report;
  report.num_completed = run.num_completed();
  report.num_steps = run.num_steps();
  report.has_ended = has_ended();
  report.is_stopped = run.status() == RunStatus::stopped;
  report.gradient_bytes = static_cast<double>(run.gradient_bytes());
  report.step_s = step_s();
  report.loss = run.last_loss();
  const std::vector<StepTimes>& steps = run.steps();
  report.new_step_s = in_parts(std::span(steps).subspan(std::min(steps.size(), std::max(kWarmUp, num_reported_))));
  return report;
}

void SharedTask::note_reported() {
  if (run_.run()) num_reported_ = run_.run()->steps().size();
}

bool SharedTask::has_enough_steps() const {
  return !outcome_ && run_.run()->steps().size() >= kWarmUp + kEnough;
}

}  // namespace multicard
