#pragma once
/// \file Several tasks on the ranks of one job.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/Clock.hpp"
#include "comm/StopMonitor.hpp"
#include "share/LinkMeasurement.hpp"
#include "share/ShareArrivals.hpp"
#include "share/ShareProgressLine.hpp"
#include "share/ShareScheduler.hpp"
#include "share/SharedTask.hpp"
#include "share/TaskMover.hpp"
#include "share/TrainingTurns.hpp"

namespace multicard {

/// What a share needs of its program.
struct ShareHooks {
  /// Collective over the world. Makes the run of an entry of the deck, with the checkpoint to resume from. \throws on
  /// all ranks
  std::function<std::unique_ptr<SharedTask>(const ShareTaskOptions&)> make_task;
  /// Collective over the ranks of the task. Stores what it leaves.
  std::function<void(const SharedTask&, const RunResult&, const Communicator&)> store;
  /// On rank 0, often: how the share stands. May be empty.
  ShareProgressLine::Listener progress = {};
};

/// Runs the tasks of a deck until all have ended, or a stop is asked for.
///
/// Training (TrainingTurns) alternates with scheduling rounds, which are collective over the world: reports and
/// outcomes of the tasks are exchanged, tasks that have come are taken, checkpoints that are due are written, rank 0
/// decides (ShareScheduler), and runs move (TaskMover). A task that ends stores what it leaves before it requests the
/// round. All ranks tell their ShareScheduler the same, so that they agree on who has which ranks; only decisions
/// depend on time, and only rank 0 makes them.
class Share {
 public:
  /// Collective over the world. \param world,stop must outlive it \param record of the launches before
  Share(const Communicator& world, ShareMachine machine, ShareOptions options, ShareHooks hooks, StopMonitor& stop,
        ShareRecord record);

  /// Collective over the world. Makes the tasks: those of the deck, and those that arrived in earlier launches.
  /// \throws UsageError for one that needs more ranks than there are, and what make_task throws
  void add_tasks();
  /// Collective over the world. What would happen first; nothing is trained. Each task is built on the ranks that it
  /// would get (on those that it needs where it would wait), which opens its data and predicts its memory. For rank 0.
  /// \throws what building it throws
  ShareDecision rehearse();
  /// Collective over the world. How the share ended: stopped, the code of the first task that failed, or complete.
  /// Tasks are asked for a checkpoint every `checkpoint_every_s`, and before they wait. \throws DataError when the
  /// record cannot be written at the end
  ExitCode run();

  /// What has become of the tasks. Its record and baselines are rank 0's.
  const ShareScheduler& scheduler() const { return scheduler_; }

 private:
  void train();
  /// Collective over the ranks of the task.
  void conclude(std::size_t task);

  /// \name Collective over the world
  /// @{
  void run_round();
  bool exchange_reports();
  void finish(std::size_t task);
  /// A task can end where it is built, resumed at its last step: it cannot be moved then.
  void finish_if_ended(std::size_t task);
  void stop_all();
  void checkpoint_due();
  /// Each task's ranks save it at the same time as the others theirs. What has ended meanwhile is finished.
  void save(const std::vector<std::size_t>& tasks);
  void add(const ShareTaskOptions& task);
  /// Rank 0's decision; other ranks get its sets of ranks alone.
  ShareDecision decide();
  /// A task that cannot run on the ranks that it is given requests others or ends, and all is decided again.
  void decide_and_move();
  /// False: a task could not be moved as `decided` says.
  bool move(const std::vector<RankSet>& decided);
  bool move_one(std::size_t task, const RankSet& ranks);
  void after_failed_move(std::size_t task, int num_ranks, const Error& error);
  void rehearse_one(std::size_t task, RankSet ranks);
  /// @}

  double now() const { return scheduler_.record().elapsed_s + seconds_since(start_); }
  void write_record();
  void show_progress(ShareProgressLine::When when);

  const Communicator& world_;
  ShareMachine machine_;
  ShareOptions options_;
  ShareHooks hooks_;
  StopMonitor& stop_;
  ShareScheduler scheduler_;
  ShareArrivals arrivals_;
  TaskMover mover_;
  TrainingTurns turns_;
  ShareProgressLine progress_;
  std::vector<std::unique_ptr<SharedTask>> runs_;  ///< of the scheduler's tasks
  TimePoint start_ = SteadyClock::now();
  double next_round_s_ = 0;  ///< since start_, by this rank's clock
  bool is_stopped_ = false;
  bool is_unwritten_ = false;  ///< the record, at the last round
};

}  // namespace multicard
