#include "share/Share.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "profiler/RangeLog.hpp"
#include "scheduling/policy/RankMoves.hpp"

namespace multicard {

namespace {

std::string does_not_fit(const std::string& task, int num_ranks, const Error& error) {
  return fmt::format("task {} does not fit on {}: {}", task, counted(num_ranks, "rank"), error.what());
}

}  // namespace

Share::Share(const Communicator& world, ShareMachine machine, ShareOptions options, ShareHooks hooks, StopMonitor& stop,
             ShareRecord record)
    : world_(world),
      machine_(std::move(machine)),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      stop_(stop),
      scheduler_(options_, Layout::of_nodes(machine_.nodes), std::move(record)),
      arrivals_(world, options_, scheduler_,
                {[this](const ShareTaskOptions& task) { add(task); }, [this] { return now(); }}),
      mover_(world),
      turns_(world, stop, [this] { show_progress(ShareProgressLine::When::between); }),
      progress_(options_.policy.interval_s, hooks_.progress) {}

ExitCode Share::run() {
  start_ = SteadyClock::now();
  for (;;) {
    run_round();
    if (is_stopped_) break;
    if (scheduler_.has_active())
      train();
    else if (!arrivals_.wait(stop_))
      break;
  }
  scheduler_.record().close(now());
  agreed_after_long_work(world_, [&] {
    if (world_.is_root()) write_share_record(record_file(options_.run.output), scheduler_.record(), now());
  });
  // The next launch tries again what has failed.
  if (is_stopped_ || scheduler_.is_any_stopped()) return ExitCode::stopped;
  return scheduler_.failure().value_or(ExitCode::complete);
}

void Share::train() {
  const std::optional<std::size_t> mine = scheduler_.task_on(world_.rank());
  std::optional<TrainingTask> training;
  if (mine) {
    const ScheduledTask& task = scheduler_.task(*mine);
    const bool wants_news = options_.policy.name == SharePolicyName::adaptive && !task.is_measured();
    training.emplace(TrainingTask{runs_[*mine].get(), *mover_.group(task.rank_set()), wants_news,
                                  [this, mine] { conclude(*mine); }});
  }
  turns_.train(training, options_.policy.interval_s);
}

void Share::conclude(std::size_t task) {
  const Communicator& ranks = *mover_.group(scheduler_.task(task).rank_set());
  runs_[task]->conclude(stop_, [&](const RunResult& result) { hooks_.store(*runs_[task], result, ranks); });
}

// The order matters: reports first, because decisions need them; ranks of ended tasks become free and arrivals join
// before the decision; the record is written last, with what was decided.
void Share::run_round() {
  world_.idle_barrier();
  progress_.erase();
  if (exchange_reports()) return stop_all();
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (scheduler_.task(i).has_ranks() && scheduler_.task(i).last_report().has_ended) finish(i);
  arrivals_.take();
  checkpoint_due();
  decide_and_move();
  write_record();
  next_round_s_ = seconds_since(start_) + options_.policy.interval_s;
  show_progress(ShareProgressLine::When::round);
}

/// \return whether all are to stop
bool Share::exchange_reports() {
  // A signal may have reached some ranks only, and may stop a task within its own run: either stops the share.
  bool stop = world_.allreduce(stop_.stop_requested() ? 1 : 0, ReduceOp::max) == 1;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const RankSet& ranks = scheduler_.task(i).rank_set();
    if (ranks.empty()) continue;
    ReportNumbers numbers{};
    if (world_.rank() == ranks.first()) numbers = numbers_of(runs_[i]->report());
    world_.broadcast(std::span<double>(numbers), ranks.first());
    const TaskReport report = report_of(numbers);
    runs_[i]->note_reported();
    scheduler_.note_report(i, report);
    stop = stop || report.is_stopped;
  }
  return stop;
}

void Share::finish(std::size_t index) {
  const std::string& name = runs_[index]->name();
  const RankSet ranks = scheduler_.task(index).rank_set();
  std::array<int, 3> numbers{};  // state, exit code, whether it is stored; by the task's root
  std::string why;
  if (ranks.contains(world_.rank())) {
    conclude(index);
    const TaskEnd& mine = runs_[index]->outcome();
    numbers = {static_cast<int>(mine.state), static_cast<int>(mine.code), mine.is_stored ? 1 : 0};
    why = mine.error;
  }
  world_.idle_barrier();  // the last checkpoint takes its time
  world_.broadcast(std::span<int>(numbers), ranks.first());
  why = world_.broadcast(why, ranks.first());
  const auto state = static_cast<TaskState>(numbers[0]);
  scheduler_.end(index, {state, static_cast<ExitCode>(numbers[1]), numbers[2] != 0, why}, now());
  runs_[index]->abandon();
  if (!world_.is_root()) return;
  if (state == TaskState::failed)
    log_error(fmt::format("task {} failed: {}", name, why));
  else
    log_info(fmt::format("{:>8.1f} s  {} is {}", now(), name, state == TaskState::stopped ? "stopped" : "complete"));
}

void Share::finish_if_ended(std::size_t task) {
  const bool has_ended = scheduler_.task(task).rank_set().contains(world_.rank()) && runs_[task]->has_ended();
  if (world_.allreduce(has_ended ? 1 : 0, ReduceOp::max) == 1) finish(task);
}

void Share::stop_all() {
  is_stopped_ = true;
  if (const auto mine = scheduler_.task_on(world_.rank())) conclude(*mine);  // all at the same time
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (scheduler_.task(i).has_ranks()) finish(i);
  scheduler_.stop_waiting();
}

void Share::save(const std::vector<std::size_t>& tasks) {
  if (tasks.empty()) return;
  std::vector<SharedTask*> runs;
  std::vector<RankSet> rank_sets;
  for (const std::size_t task : tasks) {
    runs.push_back(runs_[task].get());
    rank_sets.push_back(scheduler_.task(task).rank_set());
  }
  const double seconds = mover_.save(runs, rank_sets);
  for (const std::size_t task : tasks) {
    scheduler_.task(task).note_checkpoint(seconds);
    finish_if_ended(task);
  }
}

void Share::checkpoint_due() {
  const double seconds = world_.broadcast_value(now());
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    ScheduledTask& task = scheduler_.task(i);
    if (task.has_ranks() && task.is_checkpoint_due(seconds, options_.run.checkpoint_every_s)) due.push_back(i);
  }
  save(due);
}

void Share::add(const ShareTaskOptions& task) {
  std::unique_ptr<SharedTask> run = hooks_.make_task(task);
  ScheduledTask scheduled(run->needs(), Layout::of_nodes(machine_.nodes), machine_.links);
  if (run->history().is_finished) scheduled.end({TaskState::complete, ExitCode::complete, true, {}});
  scheduler_.add(std::move(scheduled), run->history().checkpoint.has_value());
  runs_.push_back(std::move(run));
}

void Share::add_tasks() {
  arrivals_.warn_of_missing_folder();
  for (const ShareTaskOptions& task : options_.tasks)
    add(task);
  arrivals_.add_earlier();
}

ShareDecision Share::decide() {
  ShareDecision decided;
  agreed(world_, [&] {
    if (world_.is_root()) decided = scheduler_.decide(now());
  });
  decided.rank_sets.resize(runs_.size());
  std::vector<int> owners = owners_of(decided.rank_sets, world_.size());
  world_.broadcast(std::span(owners));
  decided.rank_sets = sets_of(owners, runs_.size());
  return decided;
}

void Share::decide_and_move() {
  while (scheduler_.has_active()) {
    const ShareDecision decided = decide();
    if (RangeLog::takes_reports())
      RangeLog::report(InstantEvent{wall_clock_ns(), "allocation", scheduler_.changes_text(decided.rank_sets)});
    if (world_.is_root()) scheduler_.adopt(decided, now());
    if (move(decided.rank_sets)) break;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (scheduler_.task(i).has_ranks()) finish_if_ended(i);
  }
  const std::vector<RankSet> rank_sets = scheduler_.rank_sets();
  mover_.release_groups(rank_sets);
  if (scheduler_.has_active() && std::ranges::all_of(rank_sets, &RankSet::empty))
    throw std::logic_error("tasks are left, and none of them has ranks");
}

// moves_in_turn(): ranks are left before another task comes to them.
bool Share::move(const std::vector<RankSet>& decided) {
  const std::vector<std::size_t> saved = scheduler_.at_risk(decided);
  save(saved);
  // One that has ended leaves its ranks to the others.
  if (!std::ranges::all_of(saved, [&](std::size_t task) { return scheduler_.task(task).is_active(); })) return false;
  bool all_moved = true;
  for (const RankMove& move : moves_in_turn(scheduler_.rank_sets(), decided))
    if (scheduler_.task(move.task).is_active()) all_moved = move_one(move.task, move.to) && all_moved;
  return all_moved;
}

bool Share::move_one(std::size_t task, const RankSet& ranks) {
  try {
    const double seconds = mover_.move(*runs_[task], ranks);
    scheduler_.note_move(task, ranks, seconds, now());
    return true;
  } catch (const Error& error) {
    if (error.scope() != Scope::all_ranks && !world_.is_null()) throw;
    after_failed_move(task, ranks.count(), error);
    return false;
  }
}

/// Other tasks may have been given its ranks: where it cannot leave them, it ends there, with a checkpoint.
void Share::after_failed_move(std::size_t task, int num_ranks, const Error& error) {
  const std::string& name = runs_[task]->name();
  if (scheduler_.task(task).has_ranks() && !runs_[task]->waits_in_memory()) {
    if (world_.is_root()) log_error(fmt::format("task {} cannot be moved: {}", name, error.what()));
    return finish(task);
  }
  if (scheduler_.refuse_ranks(task, num_ranks, error, now())) {
    if (world_.is_root()) log_warning(does_not_fit(name, num_ranks, error));
    return;
  }
  runs_[task]->abandon();
  if (world_.is_root()) log_error(fmt::format("task {} failed: {}", name, error.what()));
}

// Tasks are built one after another, each abandoned before the next: a rank never has two of them in the share either.
ShareDecision Share::rehearse() {
  ShareDecision decided = decide();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const ScheduledTask& task = scheduler_.task(i);
    if (task.is_active())
      rehearse_one(i, decided.rank_sets[i].empty() ? RankSet(0, task.least_ranks()) : decided.rank_sets[i]);
  }
  return decided;
}

/// Builds the task as the first round would, on other ranks where its memory does not fit.
void Share::rehearse_one(std::size_t index, RankSet ranks) {
  ScheduledTask& task = scheduler_.task(index);
  for (;;) {
    try {
      mover_.move(*runs_[index], ranks);
      return runs_[index]->abandon();
    } catch (const Error& error) {
      const bool is_refused = error.code() == ExitCode::environment && error.scope() == Scope::all_ranks;
      if (!is_refused || !task.refuse(ranks.count(), world_.size())) throw;
      if (world_.is_root()) log_warning(does_not_fit(task.name(), ranks.count(), error));
      ranks = {0, task.least_ranks()};
    }
  }
}

/// The disk may have room again at the next round.
void Share::write_record() {
  if (!world_.is_root()) return;
  const std::optional<Error> failure =
      error_of([&] { write_share_record(record_file(options_.run.output), scheduler_.record(), now()); });
  if (failure && !is_unwritten_) log_warning(fmt::format("{} The tasks continue.", failure->what()));
  is_unwritten_ = failure.has_value();
}

void Share::show_progress(ShareProgressLine::When when) {
  if (world_.is_root()) progress_.show(when, scheduler_, now(), next_round_s_ - seconds_since(start_));
}

}  // namespace multicard
