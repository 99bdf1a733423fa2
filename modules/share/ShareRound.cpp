// A scheduling round: what all ranks of a share do together.

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "share/Share.hpp"

namespace multicard {

const std::optional<Communicator>& Share::group(const RankRange& range) {
  const std::pair key{range.first, range.count};
  const auto known = groups_.find(key);
  if (known != groups_.end()) return known->second;
  const bool is_in = range.contains(world_.rank());
  const Communicator part = world_.split(is_in ? 0 : 1, world_.rank());
  return groups_[key] = is_in ? std::optional(part) : std::nullopt;
}

void Share::run_round() {
  world_.idle_barrier();
  live_.erase();
  if (exchange()) return stop_all();
  for (const auto& task : tasks_)
    if (task->has_ranks() && task->last_report().has_ended) finish(*task);
  take_arrivals();
  checkpoint_due();
  decide_and_move();
  write_record();
  if (world_.is_root() && live_.is_live() && has_active()) live_.show(line());
}

bool Share::exchange() {
  bool stop = world_.allreduce(stop_.stop_requested() ? 1 : 0, ReduceOp::max) == 1;
  for (const auto& task : tasks_) {
    if (!task->has_ranks()) continue;
    std::array<double, 5> numbers{};
    if (world_.rank() == task->range().first) {
      const TaskReport mine = task->report();
      numbers = {static_cast<double>(mine.num_completed), static_cast<double>(mine.num_steps), mine.step_s,
                 mine.has_ended ? 1.0 : 0.0, mine.is_stopped ? 1.0 : 0.0};
    }
    world_.broadcast(std::span<double>(numbers), task->range().first);
    task->note({static_cast<std::int64_t>(numbers[0]), static_cast<std::int64_t>(numbers[1]), numbers[2],
                numbers[3] != 0, numbers[4] != 0});
    record_.measure(task->name(), static_cast<std::int64_t>(numbers[0]), numbers[2]);
    stop = stop || numbers[4] != 0;
  }
  return stop;
}

void Share::fail(SharedTask& task, const Error& error) {
  task.state = TaskState::failed;
  failure_ = failure_.value_or(error.code());
  task.error = error.what();
  task.abandon();
  record_.note(task.name(), {}, now());
  if (world_.is_root()) log_error(fmt::format("task {} failed: {}", task.name(), error.what()));
}

void Share::finish(SharedTask& task) {
  const RankRange range = task.range();
  std::array<int, 3> outcome{};  // state, exit code, whether it is stored; by the task's root
  std::string why;
  if (range.contains(world_.rank())) {
    conclude(task);
    const TaskOutcome& mine = task.outcome();
    outcome = {static_cast<int>(mine.state), static_cast<int>(mine.code), mine.is_stored ? 1 : 0};
    why = mine.error;
  }
  world_.idle_barrier();  // the last checkpoint takes its time
  world_.broadcast(std::span<int>(outcome), range.first);
  task.error = world_.broadcast(why, range.first);
  task.state = static_cast<TaskState>(outcome[0]);
  if (task.state == TaskState::failed) failure_ = failure_.value_or(static_cast<ExitCode>(outcome[1]));
  task.is_stored = outcome[2] != 0;
  task.abandon();
  record_.note(task.name(), {}, now());
  if (!world_.is_root()) return;
  if (task.state == TaskState::failed)
    log_error(fmt::format("task {} failed: {}", task.name(), task.error));
  else
    log_info(fmt::format("{:>8.1f} s  {} is {}", now(), task.name(),
                         task.state == TaskState::stopped ? "stopped" : "complete"));
}

void Share::stop_all() {
  is_stopped_ = true;
  if (SharedTask* task = mine()) conclude(*task);  // all at the same time
  for (const auto& task : tasks_) {
    if (task->has_ranks())
      finish(*task);
    else if (task->is_active())
      task->state = TaskState::stopped;  // its checkpoint was written before it began to wait
  }
}

void Share::save(const std::vector<SharedTask*>& tasks) {
  if (tasks.empty()) return;
  for (SharedTask* task : tasks)
    if (task->range().contains(world_.rank())) task->checkpoint();
  world_.idle_barrier();
  for (SharedTask* task : tasks) {
    const bool has_ended = task->range().contains(world_.rank()) && task->has_ended();
    if (world_.allreduce(has_ended ? 1 : 0, ReduceOp::max) == 1) finish(*task);
  }
}

void Share::checkpoint_due() {
  const double seconds = world_.broadcast_value(now());
  std::vector<SharedTask*> due;
  for (const auto& task : tasks_) {
    if (!task->has_ranks()) continue;
    if (!task->last_saved_s) task->last_saved_s = seconds;
    if (seconds - *task->last_saved_s < options_.run.checkpoint_every_s) continue;
    task->last_saved_s = seconds;
    due.push_back(task.get());
  }
  save(due);
}

std::vector<TaskView> Share::views() const {
  std::vector<TaskView> views;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i]->is_active()) continue;
    views.push_back(tasks_[i]->view(world_.size()));
    views.back().fixed_ranks = fixed_ranks(i);
  }
  return views;
}

/// Tasks that arrive have no entry in the policy.
int Share::fixed_ranks(std::size_t task) const {
  if (options_.policy.name != SharePolicyName::fixed) return equal_ranks(task, world_.size());
  const auto entry = options_.policy.ranks.find(tasks_[task]->name());
  return entry == options_.policy.ranks.end() ? tasks_[task]->least_ranks() : entry->second;
}

int Share::equal_ranks(std::size_t task, int num_ranks) const {
  const int least = tasks_[task]->least_ranks();
  const int number = std::clamp(static_cast<int>(options_.tasks.size()), 1, num_ranks);
  return std::max(least, num_ranks / number + (static_cast<int>(task) < num_ranks % number ? 1 : 0));
}

ShareDecision Share::first_decision() const {
  return decide(options_.policy, options_.objective, views(), world_.size());
}

/// A task that cannot run on the ranks that it is given requests others or ends, and all is decided again.
void Share::decide_and_move() {
  do {
    decides_again_ = false;
    decide_once();
  } while (decides_again_);
  if (has_active() && std::none_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return task->has_ranks(); }))
    throw std::logic_error("tasks are left, and none of them has ranks");
}

void Share::decide_once() {
  const std::vector<TaskView> views = this->views();
  if (views.empty()) return;
  ShareDecision decision;
  agreed(world_, [&] {
    if (world_.is_root()) decision = decide(options_.policy, options_.objective, views, world_.size());
  });
  decision.ranks.resize(views.size());
  world_.broadcast(std::span(decision.ranks));
  if (world_.is_root()) note_decision(decision, views);
  std::vector<int> counts(tasks_.size());
  std::vector<RankRange> before(tasks_.size());
  for (std::size_t i = 0, k = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i]->is_active()) continue;
    before[i] = tasks_[i]->range();
    counts[i] = decision.ranks[k++];
  }
  move(lay_out(counts, before, world_.size()));
}

void Share::note_decision(const ShareDecision& decision, const std::vector<TaskView>& tasks) {
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    const double rate = rate_on(tasks[k], decision.ranks[k]);
    predicted_[tasks[k].name] = rate > 0 ? 1 / rate : 0;
    if (decision.ranks[k] == tasks[k].ranks) continue;
    record_.changes.push_back(
        {now(), tasks[k].name, tasks[k].ranks, decision.ranks[k], decision.gain, decision.cost_s, decision.reason});
    log_info(fmt::format("{:>8.1f} s  {}: {} -> {} ({})", now(), tasks[k].name, tasks[k].ranks,
                         counted(decision.ranks[k], "rank"), decision.reason));
  }
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
  save(at_risk(ranges));
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

/// The disk may have room again at the next round.
void Share::write_record() {
  if (!world_.is_root()) return;
  const std::optional<Error> failure = error_of([&] { write_share_record(record_file(), record_, now()); });
  if (failure && !is_unwritten_) log_warning(fmt::format("{} The tasks continue.", failure->what()));
  is_unwritten_ = failure.has_value();
}

}  // namespace multicard
