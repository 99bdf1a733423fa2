#pragma once
/// \file Several tasks on the ranks of one job.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/Clock.hpp"
#include "base/LiveLine.hpp"
#include "comm/AsyncBarrier.hpp"
#include "comm/StopMonitor.hpp"
#include "scheduling/policy/AdaptivePolicy.hpp"
#include "share/ArrivalFolder.hpp"
#include "share/ShareBaselines.hpp"
#include "share/ShareRecord.hpp"
#include "share/SharedTask.hpp"

namespace multicard {

/// What a share needs of its program.
struct ShareHooks {
  /// Collective over the world. Makes the task of an entry of the deck, with the checkpoint to resume from. \throws on
  /// all ranks
  std::function<std::unique_ptr<SharedTask>(const ShareTaskOptions&)> make_task;
  /// Collective over the ranks of the task. Stores what it leaves.
  std::function<void(const SharedTask&, const RunResult&, const Communicator&)> store;
};

/// Runs the tasks of a deck until all have ended, or a stop is asked for.
///
/// The ranks of a task train on their own until the next scheduling round: `interval_s` after the last one, or earlier
/// when a rank requests it (a task has ended, a signal came). A task then enters the AsyncBarrier at its next step
/// boundary and continues to train until all tasks have entered, so that one with long steps keeps nobody waiting. A
/// task that ends stores what it leaves before it requests the round. What follows is collective over the world:
/// measurements and outcomes are exchanged, tasks that have come are taken, rank 0 decides, and runs move. All ranks of
/// a task do what its root says (`Turn`), because only one of them can see first that all have arrived.
class Share {
 public:
  /// \param world,stop must outlive it
  /// \param record of the launches before
  Share(const Communicator& world, int ranks_per_node, ShareOptions options, ShareHooks hooks, StopMonitor& stop,
        ShareRecord record);

  /// Collective over the world. Makes the tasks: those of the deck, and those that arrived in earlier launches.
  /// \throws UsageError for one that needs more ranks than there are, and what make_task throws
  void add_tasks();
  /// Collective over the world. What would happen first; nothing is trained. Each task is built on the ranks that it
  /// would get (on those that it needs where it would wait), which opens its data and predicts its memory. \throws what
  /// building it throws
  Decision rehearse();
  /// Collective over the world. How the share ended: stopped, the code of the first task that failed, or complete.
  /// Tasks are asked for a checkpoint every `checkpoint_every_s`, and before they wait. \throws DataError when the
  /// record cannot be written at the end
  ExitCode run();

  const std::vector<std::unique_ptr<SharedTask>>& tasks() const { return tasks_; }
  /// Rank 0's counts.
  const ShareRecord& record() const { return record_; }
  /// Tasks that arrived and could not be made: names and errors.
  const std::map<std::string, std::string>& failed_arrivals() const { return failed_arrivals_; }
  /// For rank 0, after run(). Nothing where a task is not complete, or launches had different numbers of ranks, which
  /// may be others than the world's.
  std::vector<ShareBaseline> baselines() const;

 private:
  enum class Turn : std::int64_t { round = 0, arrive = -1, wait = -2 };  ///< or so many steps

  /// \name Between scheduling rounds
  /// @{
  SharedTask* mine();
  bool has_active() const;
  void train();
  void wait_for_others();
  /// Collective over the ranks of the task.
  void conclude(SharedTask& task);
  std::int64_t next_turn(SharedTask& task, bool& waited);
  std::int64_t steps_until(const SharedTask& task, double deadline_s) const;
  /// @}

  /// \name In a scheduling round, collective over the world
  /// @{
  void run_round();
  bool exchange();
  void finish(SharedTask& task);
  void finish_if_ended(SharedTask& task);
  void fail(SharedTask& task, const Error& error);
  void stop_all();
  void checkpoint_due();
  /// Each task's ranks save it at the same time as the others theirs. What has ended meanwhile is finished.
  void save(const std::vector<SharedTask*>& tasks);
  /// False: nothing more will come.
  bool wait_for_arrivals();
  void take_arrivals();
  void add_arrival(const ShareArrival& arrival);
  std::unique_ptr<SharedTask> make(const ShareTaskOptions& task) const;
  std::vector<TaskView> views() const;
  int requested_ranks(std::size_t task) const;
  int equal_ranks(std::size_t task, int num_ranks) const;
  void decide_and_move();
  void decide_once();
  /// Collective over the world. \return the ranks of each task; those that have ended have none
  std::vector<RankRange> decide(const std::vector<TaskView>& tasks, Decision& decision);
  void note_decision(const Decision& decision, const std::vector<TaskView>& tasks);
  void log_expectation(const std::vector<TaskView>& tasks);
  void move(const std::vector<RankRange>& ranges);
  bool is_free(const RankRange& range, std::size_t task) const;
  std::vector<SharedTask*> at_risk(const std::vector<RankRange>& ranges) const;
  void move_one(SharedTask& task, const RankRange& range);
  void rehearse_one(SharedTask& task, RankRange range);
  void after_failed_move(SharedTask& task, int num_ranks, const Error& error);
  const std::optional<Communicator>& group(const RankRange& range);
  void release_groups();
  void write_record();
  /// @}

  double now() const { return record_.elapsed_s + seconds_since(start_); }
  std::string record_file() const { return options_.run.output + "/share.json"; }
  enum class Progress { round, between };
  /// On rank 0: the live line, often; a line of the log at most every `interval_s` where there is none.
  void show_progress(Progress when);
  std::string line() const;

  const Communicator& world_;
  ShareOptions options_;
  ShareHooks hooks_;
  StopMonitor& stop_;
  ShareRecord record_;
  ArrivalFolder arrivals_;
  AsyncBarrier barrier_;
  std::vector<std::unique_ptr<SharedTask>> tasks_;
  std::map<std::pair<int, int>, std::optional<Communicator>> groups_;
  LiveLine live_;
  TimePoint start_ = SteadyClock::now();
  double deadline_s_ = 0;                               ///< of the next round, by this rank's clock
  std::optional<TimePoint> shown_;                      ///< when progress was shown last
  std::string expected_for_;                            ///< tasks of the last log_expectation()
  std::map<std::string, std::string> failed_arrivals_;  ///< on all ranks
  bool is_stopped_ = false;
  bool is_unwritten_ = false;        ///< the record, at the last round
  bool decides_again_ = false;       ///< a task could not be moved as the last decision says
  std::optional<ExitCode> failure_;  ///< of the first task that failed
  Layout layout_;
  AdaptiveOptions adaptive_;
  std::unique_ptr<SchedulingPolicy> policy_;  ///< asked on rank 0
  std::map<std::string, double> predicted_;   ///< on rank 0: seconds of a step of each task on its ranks
};

}  // namespace multicard
