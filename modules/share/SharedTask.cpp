#include "share/SharedTask.hpp"

#include <algorithm>
#include <vector>

#include "base/Clock.hpp"
#include "base/Quantiles.hpp"
#include "comm/Agreement.hpp"
#include "scaling/model/StepTimeModel.hpp"

namespace multicard {

namespace {

constexpr std::size_t kWarmUp = 2;  ///< first steps on new ranks, which do not count
constexpr std::size_t kNewest = 50;

TaskRunOptions quiet_run(const std::optional<std::string>& checkpoint) {
  return {Verbosity::quiet, checkpoint, true, MemoryGaps::reserve};  // one that runs out ends all of them
}

}  // namespace

SharedTask::SharedTask(ShareTaskOptions shared, const RunOptions& options, const std::string& deck,
                       const Communicator& world, const std::optional<std::string>& checkpoint)
    : shared_(std::move(shared)),
      options_(options),
      run_(options, deck, world, quiet_run(checkpoint)),
      is_resumed_(checkpoint.has_value()),
      model_(std::make_shared<StepTimeModel>()) {}

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

void SharedTask::move_to(const RankRange& range, const std::optional<Communicator>& group) {
  const TimePoint start = SteadyClock::now();
  run_.move_to(group);
  range_ = range;
  if (range.count == 0) return;
  move_s_ = seconds_since(start);
  has_run_on_.insert(range.count);
}

bool SharedTask::has_left_ranks() {
  if (range_.count > 0 && !run_.has_state()) return false;
  range_ = {};
  return true;
}

bool SharedTask::refuse_ranks(int count, int num_ranks) {
  if (!has_run_on_.empty() && *has_run_on_.begin() < count)
    most_ranks_ = count - 1;
  else
    least_ranks_ = count + 1;
  return !has_run_on(count) && least_ranks() <= max_ranks(num_ranks);
}

TaskReport SharedTask::report() const {
  if (outcome_) return last_;
  const TaskRun& run = *run_.run();
  TaskReport report;
  report.num_completed = run.num_completed();
  report.num_steps = run.num_steps();
  report.has_ended = has_ended();
  report.is_stopped = run.status() == RunStatus::stopped;
  const std::vector<StepTimes>& steps = run.steps();
  std::vector<double> newest;
  for (std::size_t i = std::max(kWarmUp, steps.size() - std::min(steps.size(), kNewest)); i < steps.size(); ++i)
    newest.push_back(steps[i].step);
  if (!newest.empty()) report.step_s = median(newest);
  return report;
}

void SharedTask::note(const TaskReport& report) {
  last_ = report;
  if (report.step_s <= 0) return;
  const bool is_new = measured_.insert_or_assign(range_.count, report.step_s).second;
  model_.add({point(range_.count), report.step_s});
  if (is_new || model_.is_due()) model_.refit();
}

StepPoint SharedTask::point(int num_ranks) const {
  StepPoint at;
  at.gpus = num_ranks;
  at.max_per_node = num_ranks;
  at.rows_per_gpu = static_cast<double>(options_.run.global_batch) / num_ranks;
  return at;
}

RateTable SharedTask::rates(int num_ranks) const {
  if (measured_.empty()) return {};
  std::vector<RateRow> rows;
  for (int ranks = least_ranks(); ranks <= max_ranks(num_ranks); ++ranks) {
    const auto known = measured_.find(ranks);
    const double seconds = known != measured_.end() ? known->second : model_.model()->seconds(point(ranks));
    rows.push_back({ranks, 0, 1 / seconds, 0});
  }
  return RateTable(rows);
}

int SharedTask::max_ranks(int num_ranks) const {
  const int most = std::min({shared_.max_ranks.value_or(num_ranks), most_ranks_.value_or(num_ranks), num_ranks});
  return static_cast<int>(std::min<std::int64_t>(options_.run.global_batch, most));
}

TaskView SharedTask::view(int num_ranks) const {
  TaskView view;
  view.name = name();
  view.steps_left = static_cast<double>(std::max<std::int64_t>(1, last_.num_steps - last_.num_completed));
  view.weight = shared_.weight;
  view.min_ranks = least_ranks();
  view.max_ranks = max_ranks(num_ranks);
  view.ranks = range_.count;
  view.first_rank = range_.first;
  view.rates = rates(num_ranks);
  view.move_s = move_s_;
  return view;
}

std::optional<double> SharedTask::time_left() const {
  const auto known = measured_.find(range_.count);
  if (known == measured_.end()) return std::nullopt;
  return static_cast<double>(last_.num_steps - last_.num_completed) * known->second;
}

}  // namespace multicard
