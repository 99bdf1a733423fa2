#include "replay/Simulation.hpp"

#include <cmath>
#include <cstdint>
#include <memory>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

using Running = std::vector<std::unique_ptr<ReplayJob>>;

/// Ends a replay that would take too long.
class RoundLimit {
 public:
  explicit RoundLimit(const ClusterShape& cluster) : cluster_(cluster) {}

  /// Counts a round. \throws DataError
  void count(const Running& active, double now) {
    ++num_rounds_;
    operations_ +=
        static_cast<std::int64_t>(active.size()) * (cluster_.nodes + cluster_.gpus_per_node) + cluster_.num_gpus();
    if (num_rounds_ <= kMostRounds && operations_ <= kMostOperations) return;
    throw DataError(
        fmt::format("the replay was ended after {} rounds, at {:.0f} s", num_rounds_, now),
        fmt::format("{}, the oldest of which is {}, have not ended by then",
                    counted(static_cast<std::int64_t>(active.size()), "job"), active.front()->request().name),
        "Replay fewer or shorter jobs.");
  }

 private:
  static constexpr std::int64_t kMostRounds = 2'000'000;
  static constexpr std::int64_t kMostOperations = 20'000'000'000;  ///< GPUs and nodes looked at: minutes at most

  ClusterShape cluster_;
  std::int64_t num_rounds_ = 0, operations_ = 0;
};

/// The policy's turn: jobs whose list of nodes has changed restart.
void decide(double now, Running& active, SchedulingPolicy& policy, double restart_s) {
  const ActiveJobs jobs = [&] {
    ActiveJobs views;
    for (const auto& job : active)
      views.push_back(job.get());
    return views;
  }();
  std::vector<JobGpus> allocations = policy.decide(now, jobs);
  bool is_any_running = false;
  for (std::size_t i = 0; i < active.size(); ++i) {
    is_any_running = is_any_running || !allocations[i].empty();
    if (allocations[i] != active[i]->allocation()) active[i]->allocate(std::move(allocations[i]), restart_s);
  }
  if (!is_any_running)
    throw DataError(fmt::format("job {} can never run", active.front()->request().name),
                    fmt::format("it asks for {}", active.front()->request().gpus), "Replay it on a larger machine.");
}

}  // namespace

std::vector<JobOutcome> simulate(std::vector<JobRequest> requests, SchedulingPolicy& policy,
                                 const ClusterShape& cluster, const RoundTimes& times) {
  RoundLimit limit(cluster);
  std::vector<JobOutcome> outcomes;
  Running active;
  std::size_t next = 0;
  double now = 0;
  while (next < requests.size() || !active.empty()) {
    if (active.empty())  // nothing happens before the round in which the next job is submitted
      now = std::max(now, (std::ceil(requests[next].submission_s / times.round_s) - 1) * times.round_s);
    for (const auto& job : active)
      job->advance(now, times.round_s);
    now += times.round_s;
    std::erase_if(active, [&](const std::unique_ptr<ReplayJob>& job) {
      if (!job->completion_s()) return false;
      outcomes.push_back({job->request().name, job->request().submission_s, *job->completion_s(), job->num_restarts()});
      return true;
    });
    for (; next < requests.size() && requests[next].submission_s <= now; ++next)
      active.push_back(std::make_unique<ReplayJob>(std::move(requests[next])));
    if (active.empty()) continue;
    limit.count(active, now);
    decide(now, active, policy, times.restart_s);
  }
  return outcomes;
}

}  // namespace multicard
