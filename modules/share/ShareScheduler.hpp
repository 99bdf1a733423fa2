#pragma once
/// \file The scheduler of a share: its tasks, its policy and its record, without ranks, runs and clocks of its own.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/policy/AdaptiveSplit.hpp"
#include "scheduling/policy/SchedulingPolicy.hpp"
#include "share/ScheduledTask.hpp"
#include "share/ShareOptions.hpp"
#include "share/ShareRecord.hpp"

namespace multicard {

/// Who is to get which ranks.
struct ShareDecision {
  std::vector<RankSet> rank_sets;  ///< of each task of the share; those that have ended have none
  std::vector<TaskView> active;    ///< the tasks that have not, as the policy saw them
  Decision decision;               ///< about those
};

/// Decides which tasks get which ranks, and keeps account of what becomes of them. Every rank has one and reports to it
/// what happens, in the same order. What depends on time is rank 0's alone: its decisions (decide(), adopt()), which
/// are sent to the others as sets of ranks, and its record. Seconds count from the first launch.
class ShareScheduler {
 public:
  /// \param layout of the job's ranks
  /// \param record of the launches before
  ShareScheduler(const ShareOptions& options, const Layout& layout, ShareRecord record);

  /// \name Tasks, which keep their numbers
  /// @{
  /// \param is_resumed whether it was trained before
  /// \throws UsageError on all ranks for one that needs more ranks than there are; it is not added
  std::size_t add(ScheduledTask task, bool is_resumed = false);
  std::size_t num_tasks() const { return tasks_.size(); }
  const ScheduledTask& task(std::size_t index) const { return *tasks_[index]; }
  ScheduledTask& task(std::size_t index) { return *tasks_[index]; }
  bool has_active() const;
  /// Ranks of each task; count 0: none.
  std::vector<RankSet> rank_sets() const;
  /// "a: 2 ranks; b: 1 -> 3 ranks": what `decided` changes, of the tasks that have or get any.
  std::string changes_text(const std::vector<RankSet>& decided) const;
  /// The task that has the rank; nothing where none has.
  std::optional<std::size_t> task_on(int rank) const;
  /// @}

  /// \name What is to happen, on rank 0
  /// @{
  /// \throws what the policy throws
  ShareDecision decide(double now);
  /// The decision is carried out now: notes and logs it.
  void adopt(const ShareDecision& decision, double now);
  /// @}
  /// Tasks that must have a checkpoint before they get these ranks, because memory alone will hold their state for
  /// longer than a move: they will wait, or may not fit where they go.
  std::vector<std::size_t> at_risk(const std::vector<RankSet>& decided) const;

  /// \name What has happened
  /// @{
  /// A task that arrived cannot be made. The others continue.
  void fail_arrival(const std::string& name, const Error& error);
  void note_report(std::size_t task, const TaskReport& report);
  /// The task runs on these ranks, or on none, to which it moved in `seconds`.
  void note_move(std::size_t task, const RankSet& ranks, double seconds, double now);
  /// It cannot run on the ranks that it was given and has none now. Where the policy lets it have others, it requests
  /// those (true). Else it has failed.
  bool refuse_ranks(std::size_t task, int num_ranks, const Error& error, double now);
  /// The first code of a failure stays that of the share.
  void end(std::size_t task, TaskEnd end, double now);
  /// All have ended, or all are to stop: those that have no ranks are stopped, with the checkpoint they waited with.
  void stop_waiting();
  /// @}

  /// Nothing where no task has failed.
  std::optional<ExitCode> failure() const { return failure_; }
  bool is_any_stopped() const;
  /// Names and errors.
  const std::map<std::string, std::string>& failed_arrivals() const { return failed_arrivals_; }
  const ShareRecord& record() const { return record_; }
  ShareRecord& record() { return record_; }
  /// For rank 0, at the end. Nothing where a task is not complete, or launches had different numbers of ranks, which
  /// may be others than the job's.
  std::vector<AllocationBaseline> baselines() const;

 private:
  std::vector<TaskView> views() const;
  int requested_ranks(std::size_t task) const;
  int equal_ranks(std::size_t task, int num_ranks) const;
  void log_expectation(const std::vector<TaskView>& tasks);
  void note_placements(const ShareDecision& decided, double now);

  Objective objective_;
  SharePolicyOptions policy_options_;
  std::size_t num_deck_tasks_;
  Layout layout_;
  AdaptiveOptions adaptive_;
  std::unique_ptr<SchedulingPolicy> policy_;
  std::vector<std::unique_ptr<ScheduledTask>> tasks_;
  ShareRecord record_;
  std::map<std::string, double> predicted_;  ///< seconds of a step of each task on its ranks
  std::string expected_for_;                 ///< tasks of the last log_expectation()
  std::string placed_for_;                   ///< tasks and placements of the last note_placements()
  std::map<std::string, std::string> failed_arrivals_;
  std::optional<ExitCode> failure_;  ///< of the first task that failed
};

}  // namespace multicard
