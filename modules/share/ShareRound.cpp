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

namespace {

constexpr std::size_t kReportSize = 7 + kMostReported;

std::array<double, kReportSize> packed(const TaskReport& report) {
  std::array<double, kReportSize> numbers{static_cast<double>(report.num_completed),
                                          static_cast<double>(report.num_steps),
                                          report.step_s,
                                          report.has_ended ? 1.0 : 0.0,
                                          report.is_stopped ? 1.0 : 0.0,
                                          report.gradient_bytes,
                                          static_cast<double>(report.new_step_s.size())};
  std::ranges::copy(report.new_step_s, numbers.begin() + 7);
  return numbers;
}

TaskReport unpacked(const std::array<double, kReportSize>& numbers) {
  const auto first = numbers.begin() + 7;
  TaskReport report;
  report.num_completed = static_cast<std::int64_t>(numbers[0]);
  report.num_steps = static_cast<std::int64_t>(numbers[1]);
  report.step_s = numbers[2];
  report.has_ended = numbers[3] != 0;
  report.is_stopped = numbers[4] != 0;
  report.gradient_bytes = numbers[5];
  report.new_step_s.assign(first, first + static_cast<std::ptrdiff_t>(numbers[6]));
  return report;
}

}  // namespace

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
  deadline_s_ = seconds_since(start_) + options_.policy.interval_s;
  show_progress(Progress::round);
}

bool Share::exchange() {
  bool stop = world_.allreduce(stop_.stop_requested() ? 1 : 0, ReduceOp::max) == 1;
  for (const auto& task : tasks_) {
    if (!task->has_ranks()) continue;
    std::array<double, kReportSize> numbers{};
    if (world_.rank() == task->range().first) numbers = packed(task->report());
    world_.broadcast(std::span<double>(numbers), task->range().first);
    const TaskReport report = unpacked(numbers);
    task->note(report);
    record_.measure(task->name(), report.num_completed, report.step_s);
    stop = stop || report.is_stopped;
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
  const TimePoint start = SteadyClock::now();
  for (SharedTask* task : tasks)
    if (task->range().contains(world_.rank())) task->checkpoint();
  world_.idle_barrier();
  const double seconds = seconds_since(start);
  for (SharedTask* task : tasks) {
    task->note_checkpoint(seconds);
    finish_if_ended(*task);
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

/// The disk may have room again at the next round.
void Share::write_record() {
  if (!world_.is_root()) return;
  const std::optional<Error> failure = error_of([&] { write_share_record(record_file(), record_, now()); });
  if (failure && !is_unwritten_) log_warning(fmt::format("{} The tasks continue.", failure->what()));
  is_unwritten_ = failure.has_value();
}

}  // namespace multicard
