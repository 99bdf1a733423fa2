#include "scheduling/replay/Simulation.hpp"

#include <algorithm>
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
  explicit RoundLimit(const Machine& cluster) : cluster_(cluster) {}

  /// Counts a round. \throws DataError
  void count(const Running& active, double now) {
    ++num_rounds_;
    operations_ +=
        static_cast<std::int64_t>(active.size()) * (cluster_.nodes + cluster_.gpus_per_node) + cluster_.gpus();
    if (num_rounds_ <= kMostRounds && operations_ <= kMostOperations) return;
    throw DataError(fmt::format("the replay was ended after {} rounds, at {:.0f} s", num_rounds_, now),
                    fmt::format("{}, the oldest of which is {}, have not ended by then",
                                counted(static_cast<std::int64_t>(active.size()), "job"), active.front()->view().name),
                    "Replay fewer or shorter jobs.");
  }

 private:
  static constexpr std::int64_t kMostRounds = 2'000'000;
  static constexpr std::int64_t kMostOperations = 20'000'000'000;  ///< GPUs and nodes looked at: minutes at most

  Machine cluster_;
  std::int64_t num_rounds_ = 0, operations_ = 0;
};

/// The policy's turn: jobs whose list of nodes has changed restart.
void decide(double now, Running& active, SchedulingPolicy& policy, double restart_s) {
  ActiveTasks tasks;
  tasks.reserve(active.size());
  for (const auto& job : active)
    tasks.push_back(&job->view());
  Decision decision = policy.decide(now, tasks);
  bool is_any_running = false;
  for (std::size_t i = 0; i < active.size(); ++i) {
    Placement& placement = decision.placements[i];
    is_any_running = is_any_running || !placement.empty();
    if (placement != active[i]->view().placement) active[i]->allocate(std::move(placement), restart_s);
  }
  // Nothing holds GPUs, and a policy that gives none to these jobs would not do so in later rounds either.
  if (!is_any_running)
    throw DataError(fmt::format("job {} can never run", active.front()->view().name),
                    fmt::format("it asks for {}", active.front()->view().requested), "Replay it on a larger machine.");
}

}  // namespace

// One round: jobs run, those that ended leave, those that were submitted meanwhile come, and the policy decides. A job
// thus waits for the end of the round in which it is submitted, also on an idle machine.
std::vector<JobOutcome> simulate(std::vector<JobRequest> requests, SchedulingPolicy& policy, const Machine& cluster,
                                 const RoundTimes& times, MeasuredJobs* measured) {
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
      const TaskView& view = job->view();
      outcomes.push_back({view.name, view.submitted_s, *job->completion_s(), view.num_restarts});
      return true;
    });
    for (; next < requests.size() && requests[next].submission_s <= now; ++next)
      active.push_back(std::make_unique<ReplayJob>(std::move(requests[next])));
    if (active.empty()) continue;
    limit.count(active, now);
    if (measured)
      for (const auto& job : active)
        measured->observe(*job);
    decide(now, active, policy, times.restart_s);
  }
  return outcomes;
}

}  // namespace multicard
