// Between scheduling rounds: the ranks of each task train.

#include "share/Share.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/LongWork.hpp"
#include "scheduling/policy/SimplePolicies.hpp"

namespace multicard {

namespace {

/// Between two looks at the clock a task trains for about so long.
constexpr double kTurnS = 0.1;
/// Ranks that have nothing to do look for requests and signals so often.
constexpr double kIdleS = 0.2;
/// Seconds between two states of the live line.
constexpr double kShownS = 0.5;

std::unique_ptr<SchedulingPolicy> make_policy(SharePolicyName name, const AdaptiveOptions& adaptive,
                                              const Layout& layout) {
  switch (name) {
    case SharePolicyName::adaptive:
      return std::make_unique<AdaptivePolicy>(adaptive, layout);
    case SharePolicyName::sequential:
      return std::make_unique<SequentialPolicy>(layout);
    default:
      return std::make_unique<RequestedPolicy>(layout);
  }
}

}  // namespace

Share::Share(const Communicator& world, int ranks_per_node, ShareOptions options, ShareHooks hooks, StopMonitor& stop,
             ShareRecord record)
    : world_(world),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      stop_(stop),
      record_(std::move(record)),
      arrivals_(options_.arrivals.folder),
      barrier_(world),
      layout_(Layout::of_ranks(world.size(), ranks_per_node)),
      adaptive_{options_.objective, options_.policy.min_gain},
      policy_(make_policy(options_.policy.name, adaptive_, layout_)) {}

ExitCode Share::run() {
  start_ = SteadyClock::now();
  for (const auto& task : tasks_)
    if (task->is_active() && task->is_resumed() && !record_.progress.contains(task->name()))
      record_.num_ranks = ShareRecord::kSeveral;  // nobody knows on how many ranks its steps were done
  for (;;) {
    run_round();
    if (is_stopped_) break;
    if (has_active())
      train();
    else if (!wait_for_arrivals())
      break;
  }
  record_.close(now());
  agreed_after_long_work(world_, [&] {
    if (world_.is_root()) write_share_record(record_file(), record_, now());
  });
  const bool is_one_stopped =
      std::any_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return task->state == TaskState::stopped; });
  if (is_stopped_ || is_one_stopped) return ExitCode::stopped;  // the next launch tries again what has failed
  return failure_.value_or(ExitCode::complete);
}

std::vector<ShareBaseline> Share::baselines() const {
  const int ranks = record_.num_ranks;
  if (ranks <= 0) return {};
  std::vector<BaselineTask> tasks;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const SharedTask& task = *tasks_[i];
    if (task.state != TaskState::complete || !record_.progress.contains(task.name())) return {};
    tasks.push_back({task.name(), task.least_ranks(), task.max_ranks(ranks), equal_ranks(i, ranks),
                     [&](int number) { return task.point(number); }});
  }
  return predict_baselines(record_, tasks, ranks);
}

bool Share::has_active() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return task->is_active(); });
}

SharedTask* Share::mine() {
  for (const auto& task : tasks_)
    if (task->is_active() && task->range().contains(world_.rank())) return task.get();
  return nullptr;
}

void Share::wait_for_others() {
  barrier_.arrive();
  while (!barrier_.wait(kIdleS))
    if (stop_.stop_requested())
      barrier_.request();
    else
      show_progress(Progress::between);
}

void Share::conclude(SharedTask& task) {
  task.conclude(stop_, [&](const RunResult& result) { hooks_.store(task, result, *group(task.range())); });
}

void Share::train() {
  SharedTask* task = mine();
  if (!task) return wait_for_others();
  const Communicator& ranks = *group(task->range());
  for (bool waited = false;;) {
    const std::int64_t turn = ranks.broadcast_value(ranks.is_root() ? next_turn(*task, waited) : 0);
    if (turn > 0) {
      task->advance(turn, stop_);
      show_progress(Progress::between);
      if (task->has_ended()) conclude(*task);
    } else if (turn == static_cast<std::int64_t>(Turn::arrive)) {
      barrier_.arrive();
    } else if (turn == static_cast<std::int64_t>(Turn::round)) {
      if (!ranks.is_root()) wait_for_others();
      return;
    }
  }
}

std::int64_t Share::next_turn(SharedTask& task, bool& waited) {
  const bool has_ended = task.has_ended();
  if (has_ended || (options_.policy.name == SharePolicyName::adaptive && task.has_news())) barrier_.request();
  if (barrier_.has_arrived()) {
    // Once for as long as a step takes, which lets the others come to the end of theirs; then between steps.
    const double seconds = has_ended ? kIdleS : waited ? 0 : task.step_s();
    waited = true;
    if (barrier_.wait(seconds)) return static_cast<std::int64_t>(Turn::round);
    return has_ended ? static_cast<std::int64_t>(Turn::wait) : 1;
  }
  if (barrier_.has_requested() || seconds_since(start_) >= deadline_s_ || barrier_.is_requested())
    return static_cast<std::int64_t>(Turn::arrive);
  return steps_until(task, deadline_s_);
}

std::int64_t Share::steps_until(const SharedTask& task, double deadline_s) const {
  const double step_s = task.step_s();
  if (step_s <= 0) return 1;
  const double seconds = std::min(kTurnS, deadline_s - seconds_since(start_));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds / step_s));
}

void Share::show_progress(Progress when) {
  if (!world_.is_root() || !live_.is_wanted() || !has_active()) return;
  const bool is_live = live_.is_live();
  if (!is_live && when == Progress::between) return;
  const double pause = !is_live ? options_.policy.interval_s : when == Progress::round ? 0 : kShownS;
  if (shown_ && seconds_since(*shown_) < pause) return;
  shown_ = SteadyClock::now();
  if (is_live)
    live_.show(line());
  else
    log_info(fmt::format("{:>8.1f} s  {}", now(), line()));
}

std::string Share::line() const {
  std::string text;
  for (const auto& task : tasks_) {
    if (!task->is_active()) continue;
    if (!text.empty()) text += " | ";
    text += fmt::format("{} {}", task->name(), counted(task->range().count, "rank"));
    if (task->last_report().step_s > 0 && task->has_ranks())
      text += fmt::format(", {:.3g} steps/s", 1 / task->last_report().step_s);
    if (const auto left = task->time_left(); left && task->has_ranks())
      text += fmt::format(", {} left", human_duration(*left));
  }
  const double left = std::max(0.0, deadline_s_ - seconds_since(start_));
  return fmt::format("{}; next decision in {}", text, human_duration(left));
}

}  // namespace multicard
