#include "share/SharedTask.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/Clock.hpp"
#include "base/Quantiles.hpp"
#include "comm/Agreement.hpp"
#include "tasks/NormValues.hpp"

namespace multicard {

namespace {

constexpr std::size_t kWarmUp = 2;  ///< first steps on new ranks, which do not count
constexpr std::size_t kNewest = 50;
constexpr std::size_t kEnough = 5;  ///< steps after the warm-up that are worth a decision

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

TaskRunOptions quiet_run(const std::optional<std::string>& checkpoint) {
  return {Verbosity::quiet, checkpoint, true, MemoryGaps::reserve};  // one that runs out ends all of them
}

}  // namespace

SharedTask::SharedTask(ShareTaskOptions shared, const RunOptions& options, const std::string& deck,
                       const Communicator& world, const ShareMachine& machine,
                       const std::optional<std::string>& checkpoint)
    : shared_(std::move(shared)),
      options_(options),
      run_(options, deck, world, quiet_run(checkpoint)),
      is_resumed_(checkpoint.has_value()),
      ranks_per_node_(machine.ranks_per_node),
      rates_(static_cast<double>(options.run.global_batch), machine.ranks_per_node, machine.links) {}

void SharedTask::guard_lone_rank(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& found) {
    if (range_.count > 1) throw;
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

TaskOutcome SharedTask::finish(StopMonitor& stop, const std::function<void(const RunResult&)>& store) {
  if (lone_error_) throw Error(*lone_error_);
  const RunResult result = run_.finish(&stop);
  store(result);
  if (result.failure) return {TaskState::failed, result.failure->code(), true, result.failure->what()};
  return {result.summary.status == "stopped" ? TaskState::stopped : TaskState::complete, ExitCode::complete, true, {}};
}

void SharedTask::conclude(StopMonitor& stop, const std::function<void(const RunResult&)>& store) {
  if (outcome_) return;
  last_ = report();
  last_.has_ended = true;
  try {
    outcome_ = finish(stop, store);
  } catch (const Error& found) {
    if (found.scope() != Scope::all_ranks && range_.count > 1) throw;
    outcome_ = TaskOutcome{TaskState::failed, found.code(), false, found.what()};
  }
}

// Every rank leaves MovableRun::move_to() when all do, so that the time of rank 0 is that of all.
void SharedTask::move_to(const RankRange& range, const std::optional<Communicator>& group) {
  const TimePoint start = SteadyClock::now();
  run_.move_to(group);
  range_ = range;
  num_reported_ = 0;
  if (range.count == 0) return;
  move_s_ = seconds_since(start);
  rates_.run_on(range.count);
}

bool SharedTask::has_left_ranks() {
  if (range_.count > 0 && !run_.has_state()) return false;
  range_ = {};
  return true;
}

bool SharedTask::refuse_ranks(int count, int num_ranks) {
  const std::set<int>& has_run = rates_.has_run_on();
  if (!has_run.empty() && *has_run.begin() < count)
    most_ranks_ = count - 1;
  else
    least_ranks_ = count + 1;
  return !has_run_on(count) && least_ranks() <= max_ranks(num_ranks);
}

double SharedTask::step_s() const {
  if (outcome_) return last_.step_s;
  const std::vector<StepTimes>& steps = run_.run()->steps();
  std::vector<double> newest;
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
  const std::vector<StepTimes>& steps = run.steps();
  report.new_step_s = in_parts(std::span(steps).subspan(std::min(steps.size(), std::max(kWarmUp, num_reported_))));
  return report;
}

bool SharedTask::has_news() const {
  if (outcome_ || rates_.measured(range_.count)) return false;
  return run_.run()->steps().size() >= kWarmUp + kEnough;
}

void SharedTask::note(const TaskReport& report) {
  last_ = report;
  if (run_.run()) num_reported_ = run_.run()->steps().size();
  if (report.gradient_bytes > 0) rates_.set_volume(report.gradient_bytes);
  rates_.add(range_.count, report.new_step_s);
}

int SharedTask::max_ranks(int num_ranks) const {
  const int most = std::min({shared_.max_ranks.value_or(num_ranks), most_ranks_.value_or(num_ranks), num_ranks});
  int fitting = static_cast<int>(std::min<std::int64_t>(options_.run.global_batch, most));
  while (fitting > least_ranks() && least_norm_values(options_, options_.run.global_batch, fitting) == 1)
    --fitting;
  return fitting;
}

TaskView SharedTask::view(int num_ranks) const {
  TaskView view;
  view.name = name();
  view.steps_left = static_cast<double>(std::max<std::int64_t>(1, last_.num_steps - last_.num_completed));
  view.weight = shared_.weight;
  view.min_ranks = least_ranks();
  view.max_ranks = max_ranks(num_ranks);
  view.placement = placement_of(range_, ranks_per_node_);
  std::vector<int> candidates(static_cast<std::size_t>(std::max(0, view.max_ranks - view.min_ranks + 1)));
  std::iota(candidates.begin(), candidates.end(), view.min_ranks);
  LearntRates learnt = rates_.on(candidates);
  view.rates = std::move(learnt.rates);
  view.unproven = std::move(learnt.unproven);
  view.proven_on = rates_.has_run_on();
  view.move_s = move_s_;
  view.save_s = save_s_.value_or(move_s_);
  return view;
}

std::optional<double> SharedTask::time_left() const {
  const std::optional<double> step_s = rates_.measured(range_.count);
  if (!step_s) return std::nullopt;
  return static_cast<double>(last_.num_steps - last_.num_completed) * *step_s;
}

}  // namespace multicard
