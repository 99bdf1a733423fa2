#pragma once
/// \file How the tasks of a share get to their ranks.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "comm/Communicator.hpp"
#include "share/SharedTask.hpp"

namespace multicard {

/// Brings runs to ranges of the world's ranks, and keeps the communicators of these ranges, because tasks often return
/// to them. Its functions are collective over the world.
class TaskMover {
 public:
  /// \param world must outlive it
  explicit TaskMover(const Communicator& world) : world_(world) {}

  /// The ranks of `range`; nothing on a rank that is not one of them. Not collective where the range was asked for
  /// before, as that of a task that runs.
  const std::optional<Communicator>& group(const RankRange& range);
  /// Drops communicators that none of `used` needs once there are many: MPI limits their number.
  void release_groups(const std::vector<RankRange>& used);

  /// Count 0: the task waits in memory. \return seconds that it took; rank 0's are those of all. \throws as
  /// MovableRun::move_to(); the task may have left its ranks then
  double move(SharedTask& task, const RankRange& range);
  /// Writes a checkpoint of each task, all at the same time. \param ranges of the tasks \return seconds
  double save(const std::vector<SharedTask*>& tasks, const std::vector<RankRange>& ranges);

 private:
  const Communicator& world_;
  std::map<std::pair<int, int>, std::optional<Communicator>> groups_;
};

}  // namespace multicard
