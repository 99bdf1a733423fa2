#pragma once
/// \file The run of one task of a share.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "run/MovableRun.hpp"
#include "share/ScheduledTask.hpp"
#include "share/ShareOptions.hpp"

namespace multicard {

/// Whether a task has trained before a launch.
struct TaskHistory {
  std::optional<std::string> checkpoint = {};  ///< to resume from
  bool is_finished = false;                    ///< nothing is left to do
};

/// A task's run: its ranks drive it, and every rank has one of these. Which ranks they are, the ShareScheduler knows.
class SharedTask {
 public:
  /// \param options of a run with the output folder of the task
  SharedTask(ShareTaskOptions shared, const RunOptions& options, const std::string& deck, const Communicator& world,
             TaskHistory history);

  const std::string& name() const { return shared_.name; }
  const RunOptions& options() const { return options_; }
  /// For its scheduler.
  TaskNeeds needs() const;
  const TaskHistory& history() const { return history_; }

  /// \name Collective over its ranks
  /// @{
  /// Trains some steps. What a task on one rank finds has been found by all its ranks: it ends the task.
  void advance(std::int64_t num_steps, StopMonitor& stop);
  void checkpoint();
  /// Whether it is complete, stopped or failed.
  bool has_ended() const;
  /// Ends the run and passes what it leaves to `store`; the second call does nothing. An error that all its ranks find
  /// is the outcome.
  void conclude(StopMonitor& stop, const std::function<void(const RunResult&)>& store);
  /// After conclude().
  const TaskEnd& outcome() const { return *outcome_; }
  /// @}

  /// Collective over the world. \param group where this rank is to have the run
  /// \throws as MovableRun::move_to()
  void move_to(const std::optional<Communicator>& group);
  /// The same on all ranks: whether its state waits in memory, because no rank has the run.
  bool waits_in_memory() const { return run_.has_state(); }
  /// Collective over the world: nothing is left of its run.
  void abandon() { run_.abandon(); }

  /// \name On its ranks
  /// @{
  /// What it has done; steps that were reported before are left out. \see note_reported()
  TaskReport report() const;
  void note_reported();
  /// Median seconds of the newest steps; 0 where none has been measured on these ranks.
  double step_s() const;
  /// Whether enough steps were done on these ranks to base a decision on.
  bool has_enough_steps() const;
  /// @}

 private:
  bool is_alone() const { return group_size_ <= 1; }
  TaskEnd finish(StopMonitor& stop, const std::function<void(const RunResult&)>& store);
  void guard_lone_rank(const std::function<void()>& body);

  ShareTaskOptions shared_;
  RunOptions options_;
  MovableRun run_;
  TaskHistory history_;
  int group_size_ = 0;               ///< of its ranks, on those
  std::size_t num_reported_ = 0;     ///< of the steps on its present ranks, on those
  std::optional<Error> lone_error_;  ///< of a task on one rank
  TaskReport last_;                  ///< once it has been concluded
  std::optional<TaskEnd> outcome_;
};

}  // namespace multicard
