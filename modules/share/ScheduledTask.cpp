#include "share/ScheduledTask.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace multicard {

ScheduledTask::ScheduledTask(TaskNeeds needs, Layout layout, const std::vector<std::optional<double>>& links)
    : needs_(std::move(needs)),
      layout_(std::move(layout)),
      rates_(static_cast<double>(needs_.global_batch), layout_.machine, links) {}

void ScheduledTask::run_on(const RankSet& ranks) {
  rank_set_ = ranks;
  if (!ranks.empty()) rates_.run_on(placement());
}

void ScheduledTask::end(TaskEnd end) {
  end_ = std::move(end);
  rank_set_ = {};
}

void ScheduledTask::note(const TaskReport& report) {
  last_ = report;
  if (report.gradient_bytes > 0) rates_.set_volume(report.gradient_bytes);
  rates_.add(placement(), report.new_step_s);
}

// The first call only starts the clock: what a task begins with is on disk, or is nothing.
bool ScheduledTask::is_checkpoint_due(double now, double every_s) {
  if (!last_saved_s_) last_saved_s_ = now;
  if (now - *last_saved_s_ < every_s) return false;
  last_saved_s_ = now;
  return true;
}

// Rows per rank, and with them the memory of activations, shrink as ranks are added. So a task that does not fit asks
// for more ranks, unless it has already trained on fewer: then its memory cannot be what is wrong with `count`. Each
// refusal narrows the range, so that deciding again and again comes to an end.
bool ScheduledTask::refuse(int count, int num_ranks) {
  const std::set<int>& has_run = rates_.has_run_on();
  if (!has_run.empty() && *has_run.begin() < count)
    most_ranks_ = count - 1;
  else
    least_ranks_ = count + 1;
  return !has_run_on(count) && least_ranks() <= max_ranks(num_ranks);
}

int ScheduledTask::least_ranks() const {
  return std::max(least_ranks_, needs_.min_ranks);
}

// A rank without rows is of no use, hence the bound of the global batch. Batch norm in training needs at least two
// values per channel, which can_run_on() checks; numbers of ranks between the least and the most are not checked here,
// but are where the task is built.
int ScheduledTask::max_ranks(int num_ranks) const {
  const int most = std::min({needs_.max_ranks.value_or(num_ranks), most_ranks_.value_or(num_ranks), num_ranks});
  int fitting = static_cast<int>(std::min<std::int64_t>(needs_.global_batch, most));
  while (fitting > least_ranks() && needs_.can_run_on && !needs_.can_run_on(fitting))
    --fitting;
  return fitting;
}

TaskView ScheduledTask::view(int num_ranks) const {
  TaskView view;
  view.name = name();
  view.steps_left = static_cast<double>(std::max<std::int64_t>(1, last_.num_steps - last_.num_completed));
  view.weight = needs_.weight;
  view.min_ranks = least_ranks();
  view.max_ranks = max_ranks(num_ranks);
  view.placement = layout_.placement_of(rank_set_);
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

std::optional<double> ScheduledTask::time_left() const {
  const std::optional<double> step_s = rates_.measured(placement());
  if (!step_s) return std::nullopt;
  return static_cast<double>(last_.num_steps - last_.num_completed) * *step_s;
}

}  // namespace multicard
