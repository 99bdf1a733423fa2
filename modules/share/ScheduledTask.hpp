#pragma once
/// \file One task of a share, as its scheduler knows it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/Error.hpp"
#include "scheduling/model/TaskRates.hpp"
#include "scheduling/policy/Layout.hpp"
#include "scheduling/policy/TaskView.hpp"
#include "share/TaskReport.hpp"

namespace multicard {

/// What a task asks for.
struct TaskNeeds {
  std::string name;
  double weight = 1;
  int min_ranks = 1;
  std::optional<int> max_ranks;
  std::int64_t global_batch = 1;        ///< rows
  std::function<bool(int)> can_run_on;  ///< whether its batch can be divided among that many ranks; empty: always
};

enum class TaskState {
  active,    ///< has ranks, or waits for some
  complete,  ///< has done its work
  stopped,   ///< can be resumed
  failed     ///< all its ranks found an error
};

/// How a task has ended.
struct TaskEnd {
  TaskState state = TaskState::complete;
  ExitCode code = ExitCode::complete;
  bool is_stored = false;  ///< in a results file of its own
  std::string error;
};

/// What all ranks know of a task, from what they have agreed on; rank 0 also knows how long moves and checkpoints
/// take. It has no run: tests drive it as a share does.
class ScheduledTask {
 public:
  /// \param layout of the job's ranks \param links as TaskRates takes them
  ScheduledTask(TaskNeeds needs, Layout layout, const std::vector<std::optional<double>>& links = {});

  const std::string& name() const { return needs_.name; }
  bool is_active() const { return !end_; }
  TaskState state() const { return end_ ? end_->state : TaskState::active; }
  /// \pre it has ended
  const TaskEnd& outcome() const { return *end_; }
  const RankSet& rank_set() const { return rank_set_; }
  bool has_ranks() const { return !rank_set_.empty(); }
  /// How its ranks are spread over the nodes.
  NodeCounts placement() const { return node_counts(layout_.placement_of(rank_set_)); }
  const TaskReport& last_report() const { return last_; }

  /// \name What happens to it
  /// @{
  /// It has these ranks from now on; count 0: none.
  void run_on(const RankSet& ranks);
  /// Its ranks are free.
  void end(TaskEnd end);
  void note(const TaskReport& report);
  void note_move(double seconds) { move_s_ = seconds; }
  void note_checkpoint(double seconds) { save_s_ = seconds; }
  /// Whether `every_s` have passed since the last checkpoint that was due, or since this was asked first.
  bool is_checkpoint_due(double now, double every_s);
  /// It cannot run on `count` ranks: from now on it requests more, or fewer where it has run on fewer. False where
  /// nothing is left that it could request. \param num_ranks of the job
  bool refuse(int count, int num_ranks);
  /// @}

  /// What a decision is based on, but for the ranks that the deck's policy gives it. \param num_ranks of the job
  TaskView view(int num_ranks) const;
  int least_ranks() const;
  /// Ranks that it can use. \param num_ranks of the job
  int max_ranks(int num_ranks) const;
  /// Whether it has trained on `num_ranks` ranks.
  bool has_run_on(int num_ranks) const { return rates_.has_run_on().contains(num_ranks); }
  /// Whether steps on its present ranks have been reported.
  bool is_measured() const { return rates_.measured(placement()).has_value(); }
  /// A step on ranks that are so spread over nodes, as models of its time take it.
  StepPoint point(const NodeCounts& counts) const { return rates_.point(counts); }
  /// The same on as few nodes as possible.
  StepPoint point(int num_ranks) const { return rates_.point(num_ranks); }
  /// Seconds until it ends on its present ranks; nothing where that is not known.
  std::optional<double> time_left() const;

 private:
  TaskNeeds needs_;
  Layout layout_;
  RankSet rank_set_;
  std::optional<TaskEnd> end_;
  TaskReport last_;
  TaskRates rates_;
  int least_ranks_ = 1;                 ///< on which it can run, as far as is known
  std::optional<int> most_ranks_;       ///< the same
  double move_s_ = 1;                   ///< of its last move; before the first one that of its start
  std::optional<double> save_s_;        ///< of its last checkpoint; before the first as long as a move
  std::optional<double> last_saved_s_;  ///< when a checkpoint was due last
};

}  // namespace multicard
