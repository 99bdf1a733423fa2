#pragma once
/// \file One task of a share, as every rank knows it.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduling/model/TaskRates.hpp"
#include "scheduling/policy/Layout.hpp"
#include "scheduling/policy/TaskView.hpp"
#include "share/LinkMeasurement.hpp"
#include "share/ShareOptions.hpp"
#include "tasks/MovableRun.hpp"

namespace multicard {

enum class TaskState {
  active,    ///< has ranks, or waits for some
  complete,  ///< has done its work
  stopped,   ///< can be resumed
  failed     ///< all its ranks found an error
};

/// What a task's root tells all ranks in a scheduling round.
struct TaskReport {
  std::int64_t num_completed = 0, num_steps = 0;
  double step_s = 0;          ///< median of the newest steps; 0: none is measured on these ranks yet
  double gradient_bytes = 0;  ///< that a step all-reduces
  /// Of steps since the last report, oldest first. Where those are more than kMostReported, means of as many equal
  /// parts of them, so that all of the time counts.
  std::vector<double> new_step_s = {};
  bool has_ended = false;   ///< the run is complete, stopped or failed
  bool is_stopped = false;  ///< because that was requested
};

constexpr std::size_t kMostReported = 32;

/// How a task has ended, as its ranks know it.
struct TaskOutcome {
  TaskState state = TaskState::complete;
  ExitCode code = ExitCode::complete;
  bool is_stored = false;
  std::string error;
};

/// A task with its run, which its ranks drive, and with what all ranks know of it.
class SharedTask {
 public:
  /// \param options of a run with the output folder of the task
  /// \param checkpoint to resume from
  SharedTask(ShareTaskOptions shared, const RunOptions& options, const std::string& deck, const Communicator& world,
             const ShareMachine& machine, const std::optional<std::string>& checkpoint);

  const std::string& name() const { return shared_.name; }
  const ShareTaskOptions& shared() const { return shared_; }
  const RunOptions& options() const { return options_; }
  const RankRange& range() const { return range_; }
  bool is_active() const { return state == TaskState::active; }
  bool has_ranks() const { return is_active() && range_.count > 0; }

  TaskState state = TaskState::active;
  std::string error;
  bool is_stored = false;              ///< in a results file of its own
  std::optional<double> last_saved_s;  ///< when its checkpoint was requested last

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
  const TaskOutcome& outcome() const { return *outcome_; }
  /// @}

  /// Collective over the world; rank 0 learns how long it takes. \param group the ranks of `range` where this rank is
  /// one of them
  void move_to(const RankRange& range, const std::optional<Communicator>& group);
  /// After a move that failed. False: it could not leave its ranks. Else it has none, and its state waits for the next
  /// move.
  bool has_left_ranks();
  /// Whether it has trained on so many ranks.
  bool has_run_on(int num_ranks) const { return rates_.has_run_on().contains(num_ranks); }
  /// Collective over the world: nothing is left of its run.
  void abandon() { run_.abandon(); }
  /// Rank 0 learns how long writing its checkpoint has taken.
  void note_checkpoint(double seconds) { save_s_ = seconds; }
  /// On the root of its ranks.
  TaskReport report() const;
  /// On its ranks: median seconds of the newest steps; 0 where none has been measured on these ranks.
  double step_s() const;
  /// On the root of its ranks: whether enough steps were done on a number of ranks of which nothing was known.
  bool has_news() const;
  /// On all ranks: takes what its root has reported.
  void note(const TaskReport& report);
  const TaskReport& last_report() const { return last_; }

  /// What a decision is based on, but for the ranks that the deck's policy gives it. \param num_ranks of the job
  TaskView view(int num_ranks) const;
  /// Ranks that it can use. \param num_ranks of the job
  int max_ranks(int num_ranks) const;
  /// It cannot run on `count` ranks: from now on it requests more, or for fewer where it has run on fewer. False where
  /// nothing is left that it could request. \param num_ranks of the job
  bool refuse_ranks(int count, int num_ranks);
  /// Whether it had a checkpoint when it was made.
  bool is_resumed() const { return is_resumed_; }
  int least_ranks() const { return std::max(least_ranks_, shared_.min_ranks); }
  /// A step on so many ranks, as models of its time take it.
  StepPoint point(int num_ranks) const { return rates_.point(num_ranks); }
  /// Seconds until it ends on its present ranks; nothing where that is not known.
  std::optional<double> time_left() const;

 private:
  TaskOutcome finish(StopMonitor& stop, const std::function<void(const RunResult&)>& store);
  void guard_lone_rank(const std::function<void()>& body);

  ShareTaskOptions shared_;
  RunOptions options_;
  MovableRun run_;
  RankRange range_;
  TaskReport last_;
  bool is_resumed_;
  int least_ranks_ = 1;            ///< on which it can run, as far as is known
  std::optional<int> most_ranks_;  ///< the same
  int ranks_per_node_;
  std::size_t num_reported_ = 0;  ///< of the steps on its present ranks, on those
  double move_s_ = 1;             ///< of its last move; before the first one that of its start, which builds the same
  std::optional<double> save_s_;  ///< of its last checkpoint; before the first as long as a move
  std::optional<Error> lone_error_;  ///< of a task on one rank
  std::optional<TaskOutcome> outcome_;
  TaskRates rates_;
};

}  // namespace multicard
