#include "share/TaskMover.hpp"

#include <algorithm>

#include "base/Clock.hpp"

namespace multicard {

namespace {
// Each communicator takes a context id of the MPI library, of which there are few (about 2000 in MPICH).
constexpr std::size_t kMostGroups = 8;
}  // namespace

const std::optional<Communicator>& TaskMover::group(const RankRange& range) {
  static const std::optional<Communicator> kNoGroup;
  if (range.count == 0) return kNoGroup;
  const std::pair key{range.first, range.count};
  const auto known = groups_.find(key);
  if (known != groups_.end()) return known->second;
  const bool is_in = range.contains(world_.rank());
  // Collective over the world: ranks outside the range must take part. That is why all ranks keep all entries of the
  // map, also those of groups that they are not in: they must agree on which are known.
  const Communicator part = world_.split(is_in ? 0 : 1, world_.rank());
  return groups_[key] = is_in ? std::optional(part) : std::nullopt;
}

void TaskMover::release_groups(const std::vector<RankRange>& used) {
  if (groups_.size() <= kMostGroups) return;
  std::erase_if(groups_, [&](const auto& group) {
    return std::ranges::find(used, RankRange{group.first.first, group.first.second}) == used.end();
  });
}

// Every rank leaves MovableRun::move_to() when all do, so that the time of rank 0 is that of all.
double TaskMover::move(SharedTask& task, const RankRange& range) {
  const std::optional<Communicator>& ranks = group(range);
  const TimePoint start = SteadyClock::now();
  task.move_to(ranks);
  return seconds_since(start);
}

double TaskMover::save(const std::vector<SharedTask*>& tasks, const std::vector<RankRange>& ranges) {
  const TimePoint start = SteadyClock::now();
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (ranges[i].contains(world_.rank())) tasks[i]->checkpoint();
  world_.idle_barrier();
  return seconds_since(start);
}

}  // namespace multicard
