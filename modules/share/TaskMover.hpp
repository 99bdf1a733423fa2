#pragma once
/// \file How the tasks of a share get to their ranks.

#include <map>
#include <optional>
#include <vector>

#include "comm/Communicator.hpp"
#include "share/SharedTask.hpp"

namespace multicard {

/// Brings runs to sets of the world's ranks, and keeps the communicators of these, because tasks often return to them.
/// Its functions are collective over the world.
class TaskMover {
 public:
  /// \param world must outlive it
  explicit TaskMover(const Communicator& world) : world_(world) {}

  /// The communicator of these ranks; nothing on a rank that is not one of them. Not collective where they were asked
  /// for before, as those of a task that runs.
  const std::optional<Communicator>& group(const RankSet& ranks);
  /// Drops communicators that none of `used` needs once there are many: MPI limits their number.
  void release_groups(const std::vector<RankSet>& used);

  /// No ranks: the task waits in memory. \return seconds that it took; rank 0's are those of all. \throws as
  /// MovableRun::move_to(); the task may have left its ranks then
  double move(SharedTask& task, const RankSet& ranks);
  /// Writes a checkpoint of each task, all at the same time. \param rank_sets of the tasks \return seconds
  double save(const std::vector<SharedTask*>& tasks, const std::vector<RankSet>& rank_sets);

 private:
  const Communicator& world_;
  std::map<RankSet, std::optional<Communicator>> groups_;
};

}  // namespace multicard
