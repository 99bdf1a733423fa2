// Who gets which ranks, and how they get them.

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "share/Share.hpp"

namespace multicard {

namespace {
constexpr std::size_t kMostGroups = 8;
}  // namespace

const std::optional<Communicator>& Share::group(const RankRange& range) {
  const std::pair key{range.first, range.count};
  const auto known = groups_.find(key);
  if (known != groups_.end()) return known->second;
  const bool is_in = range.contains(world_.rank());
  const Communicator part = world_.split(is_in ? 0 : 1, world_.rank());
  return groups_[key] = is_in ? std::optional(part) : std::nullopt;
}

/// Drops communicators that no task uses once there are more than kMostGroups: MPI limits their number.
void Share::release_groups() {
  if (groups_.size() <= kMostGroups) return;
  std::erase_if(groups_, [&](const auto& group) {
    const RankRange range{group.first.first, group.first.second};
    return std::ranges::none_of(tasks_, [&](const auto& task) { return task->has_ranks() && task->range() == range; });
  });
}

/// A task can end where it is built, resumed at its last step: it cannot be moved then.
void Share::finish_if_ended(SharedTask& task) {
  const bool has_ended = task.range().contains(world_.rank()) && task.has_ended();
  if (world_.allreduce(has_ended ? 1 : 0, ReduceOp::max) == 1) finish(task);
}

std::vector<TaskView> Share::views() const {
  std::vector<TaskView> views;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i]->is_active()) continue;
    views.push_back(tasks_[i]->view(world_.size()));
    views.back().requested = requested_ranks(i);
  }
  return views;
}

/// Tasks that arrive have no entry in the policy.
int Share::requested_ranks(std::size_t task) const {
  if (options_.policy.name != SharePolicyName::fixed) return equal_ranks(task, world_.size());
  const auto entry = options_.policy.ranks.find(tasks_[task]->name());
  return entry == options_.policy.ranks.end() ? tasks_[task]->least_ranks() : entry->second;
}

int Share::equal_ranks(std::size_t task, int num_ranks) const {
  return std::max(tasks_[task]->least_ranks(), equal_share(task, options_.tasks.size(), num_ranks));
}

/// Builds `task` as the first round would, on other ranks where its memory does not fit.
void Share::rehearse_one(SharedTask& task, RankRange range) {
  for (;;) {
    try {
      task.move_to(range, group(range));
      return task.abandon();
    } catch (const Error& error) {
      const bool is_refused = error.code() == ExitCode::environment && error.scope() == Scope::all_ranks;
      if (!is_refused || !task.refuse_ranks(range.count, world_.size())) throw;
      if (world_.is_root())
        log_warning(
            fmt::format("task {} does not fit on {}: {}", task.name(), counted(range.count, "rank"), error.what()));
      range = {0, task.least_ranks()};
    }
  }
}

std::vector<RankRange> Share::decide(const std::vector<TaskView>& tasks, Decision& decision) {
  agreed(world_, [&] {
    if (!world_.is_root()) return;
    ActiveTasks active;
    for (const TaskView& task : tasks)
      active.push_back(&task);
    decision = policy_->decide(now(), active);
  });
  decision.placements.resize(tasks.size());
  std::vector<int> bounds;
  for (const Placement& placement : decision.placements) {
    const RankRange range = range_of(placement, layout_.machine.gpus_per_node);
    bounds.insert(bounds.end(), {range.first, range.count});
  }
  world_.broadcast(std::span(bounds));
  std::vector<RankRange> ranges(tasks_.size());
  std::size_t k = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i]->is_active()) continue;
    ranges[i] = {bounds[k], bounds[k + 1]};
    k += 2;
  }
  return ranges;
}

Decision Share::rehearse() {
  Decision decision;
  const std::vector<RankRange> ranges = decide(views(), decision);
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i]->is_active())
      rehearse_one(*tasks_[i], ranges[i].count > 0 ? ranges[i] : RankRange{0, tasks_[i]->least_ranks()});
  return decision;
}

/// A task that cannot run on the ranks that it is given requests others or ends, and all is decided again.
void Share::decide_and_move() {
  decide_once();
  while (decides_again_) {
    decides_again_ = false;
    for (const auto& task : tasks_)
      if (task->has_ranks()) finish_if_ended(*task);
    decide_once();
  }
  release_groups();
  if (has_active() && std::none_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return task->has_ranks(); }))
    throw std::logic_error("tasks are left, and none of them has ranks");
}

void Share::decide_once() {
  const std::vector<TaskView> views = this->views();
  if (views.empty()) return;
  Decision decision;
  const std::vector<RankRange> ranges = decide(views, decision);
  if (world_.is_root()) {
    note_decision(decision, views);
    log_expectation(views);
  }
  move(ranges);
}

void Share::note_decision(const Decision& decision, const std::vector<TaskView>& tasks) {
  bool is_change = false;
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    const int before = tasks[k].ranks(), after = gpus_of(decision.placements[k]);
    const double rate = rate_on(tasks[k], after);
    predicted_[tasks[k].name] = rate > 0 ? 1 / rate : 0;
    if (after == before) continue;
    is_change = true;
    record_.changes.push_back({now(), tasks[k].name, before, after, decision.gain, decision.cost_s, decision.reason});
    log_info(fmt::format("{:>8.1f} s  {}: {} -> {} ({})", now(), tasks[k].name, before, counted(after, "rank"),
                         decision.reason));
  }
  record_.keep(is_change, {now(), decision.gain, decision.cost_s, decision.reason});
}

/// Once for each set of tasks, when steps of all of them have been measured. Moves are free in these values.
void Share::log_expectation(const std::vector<TaskView>& tasks) {
  std::string names;
  for (const TaskView& task : tasks)
    names += task.name + '\n';
  if (options_.policy.name != SharePolicyName::adaptive || !is_about_time(options_.objective) || tasks.size() < 2 ||
      names == expected_for_)
    return;
  const std::optional<Allocation> best = expected_values(adaptive_, tasks, world_.size());
  if (!best) return;
  expected_for_ = names;
  const auto seconds = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.4g} s", *value) : std::string("impossible");
  };
  log_info(fmt::format("{:<10}{} of what is left: {:.4g} s by sharing, {} one after another, {} in the equal split",
                       "expected", word_of(options_.objective, kObjectiveWords), best->value, seconds(best->sequential),
                       seconds(best->equal)));
  const double infinity = std::numeric_limits<double>::infinity();
  const double other = std::min(best->sequential.value_or(infinity), best->equal.value_or(infinity));
  if (best->value > other * (1 - options_.policy.min_gain))
    log_info(fmt::format("{:<10}sharing is not expected to gain {:.0f} % over {} for these tasks", "",
                         100 * options_.policy.min_gain,
                         other == best->sequential ? "one after another" : "the equal split"));
}

bool Share::is_free(const RankRange& range, std::size_t task) const {
  if (range.count == 0) return true;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (i == task || !tasks_[i]->has_ranks()) continue;
    const RankRange& theirs = tasks_[i]->range();
    if (theirs.first < range.first + range.count && range.first < theirs.first + theirs.count) return false;
  }
  return true;
}

/// Tasks whose state only memory will hold for longer than a move: they will wait, or may not fit where they go.
std::vector<SharedTask*> Share::at_risk(const std::vector<RankRange>& ranges) const {
  std::vector<SharedTask*> found;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i]->has_ranks() && !tasks_[i]->has_run_on(ranges[i].count)) found.push_back(tasks_[i].get());
  return found;
}

// Tasks move one after the other, each to ranks that are free by then. Where tasks wait for each other's ranks, one of
// them gives up its own and waits in memory.
void Share::move(const std::vector<RankRange>& ranges) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i]->is_active() && ranges[i] != tasks_[i]->range()) open.push_back(i);
  const std::vector<SharedTask*> saved = at_risk(ranges);
  save(saved);
  if (!std::ranges::all_of(saved, &SharedTask::is_active)) {  // one that has ended leaves its ranks to the others
    decides_again_ = true;
    return;
  }
  while (!open.empty()) {
    const auto next =
        std::find_if(open.begin(), open.end(), [&](std::size_t task) { return is_free(ranges[task], task); });
    if (next == open.end()) {
      const auto one =
          std::find_if(open.begin(), open.end(), [&](std::size_t task) { return tasks_[task]->has_ranks(); });
      move_one(*tasks_[*one], {});
      continue;
    }
    move_one(*tasks_[*next], ranges[*next]);
    open.erase(next);
  }
}

void Share::move_one(SharedTask& task, const RankRange& range) {
  if (!task.is_active()) return;
  try {
    task.move_to(range, range.count > 0 ? group(range) : std::nullopt);
    if (range.count > 0) record_.begin(world_.size());
    record_.note(task.name(), range, now(), predicted_[task.name()]);
  } catch (const Error& error) {
    if (error.scope() != Scope::all_ranks && !world_.is_null()) throw;
    after_failed_move(task, range.count, error);
  }
}

/// Other tasks may have been given its ranks: where it cannot leave them, it ends there, with a checkpoint.
void Share::after_failed_move(SharedTask& task, int num_ranks, const Error& error) {
  decides_again_ = true;
  if (!task.has_left_ranks()) {
    if (world_.is_root()) log_error(fmt::format("task {} cannot be moved: {}", task.name(), error.what()));
    return finish(task);
  }
  const bool can_choose = options_.policy.name != SharePolicyName::fixed && num_ranks > 0;
  if (error.code() != ExitCode::environment || !can_choose || !task.refuse_ranks(num_ranks, world_.size()))
    return fail(task, error);
  record_.note(task.name(), {}, now());
  if (world_.is_root())
    log_warning(fmt::format("task {} does not fit on {}: {}", task.name(), counted(num_ranks, "rank"), error.what()));
}

}  // namespace multicard
