#include "share/TaskMover.hpp"

#include <algorithm>

#include "base/Clock.hpp"

namespace multicard {

namespace {
// Each communicator takes a context id of the MPI library, of which there are few (about 2000 in MPICH).
constexpr std::size_t kMostGroups = 8;
}  // namespace

const std::optional<Communicator>& TaskMover::group(const RankSet& ranks) {
  static const std::optional<Communicator> kNoGroup;
  if (ranks.empty()) return kNoGroup;
  const auto known = groups_.find(ranks);
  if (known != groups_.end()) return known->second;
  const bool is_in = ranks.contains(world_.rank());
  // Collective over the world: other ranks must take part. That is why all ranks keep all entries of the
  // map, also those of groups that they are not in: they must agree on which are known.
  const Communicator part = world_.split(is_in ? 0 : 1, world_.rank());
  return groups_[ranks] = is_in ? std::optional(part) : std::nullopt;
}

void TaskMover::release_groups(const std::vector<RankSet>& used) {
  if (groups_.size() <= kMostGroups) return;
  std::erase_if(groups_, [&](const auto& group) { return std::ranges::find(used, group.first) == used.end(); });
}

// Every rank leaves MovableRun::move_to() when all do, so that the time of rank 0 is that of all.
double TaskMover::move(SharedTask& task, const RankSet& ranks) {
  const std::optional<Communicator>& communicator = group(ranks);
  const TimePoint start = SteadyClock::now();
  task.move_to(communicator);
  return seconds_since(start);
}

double TaskMover::save(const std::vector<SharedTask*>& tasks, const std::vector<RankSet>& rank_sets) {
  const TimePoint start = SteadyClock::now();
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (rank_sets[i].contains(world_.rank())) tasks[i]->checkpoint();
  world_.idle_barrier();
  return seconds_since(start);
}

}  // namespace multicard
