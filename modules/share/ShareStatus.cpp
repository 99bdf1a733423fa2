#include "share/ShareStatus.hpp"

#include <algorithm>

#include "base/Log.hpp"

namespace multicard {

namespace {

constexpr std::size_t kChanges = 4;  ///< the newest decisions

const char* state_of(const ScheduledTask& task) {
  switch (task.state()) {
    case TaskState::complete:
      return "complete";
    case TaskState::stopped:
      return "stopped";
    case TaskState::failed:
      return "failed";
    case TaskState::active:
      break;
  }
  return task.has_ranks() ? "training" : "waiting";
}

}  // namespace

WatchedShare watched_share(const ShareScheduler& scheduler, const ShareOptions& options, double now, double left_s) {
  WatchedShare share;
  share.elapsed_s = now;
  share.next_decision_s = std::max(0.0, left_s);
  share.policy = word_of(options.policy.name, kSharePolicyWords);
  share.objective = word_of(options.objective, kObjectiveWords);
  share.ranks = scheduler.record().num_ranks;
  for (std::size_t i = 0; i < scheduler.num_tasks(); ++i) {
    const ScheduledTask& task = scheduler.task(i);
    WatchedTask of{task.name(), state_of(task), options.run.output + "/tasks/" + task.name()};
    of.first_rank = task.rank_set().first();
    of.ranks = task.rank_set().count();
    of.rank_list = task.rank_set().text();
    of.step = task.last_report().num_completed;
    of.total_steps = task.last_report().num_steps;
    if (task.last_report().step_s > 0) of.step_s = task.last_report().step_s;
    of.left_s = task.has_ranks() ? task.time_left().value_or(kNone) : kNone;
    share.tasks.push_back(std::move(of));
  }
  const std::vector<AllocationChange>& changes = scheduler.record().changes;
  share.changes.assign(changes.end() - static_cast<std::ptrdiff_t>(std::min(kChanges, changes.size())), changes.end());
  return share;
}

void ShareStatus::show(const std::shared_ptr<StatusWriter>& writer, const ShareScheduler& scheduler, double now,
                       double left_s) {
  if (!writer || seconds_since(shown_) < 1) return;
  const bool is_first = shown_ == TimePoint{};
  shown_ = SteadyClock::now();
  writer->change([share = watched_share(scheduler, options_, now, left_s)](WatchStatus& status) {
    status.share = share;
    status.state = name_of(WatchState::training);
  });
  if (is_first) writer->write_soon();
  if (const auto warning = writer->take_warning()) log_warning(*warning);
}

}  // namespace multicard
