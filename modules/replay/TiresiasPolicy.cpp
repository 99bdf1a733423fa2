#include "replay/TiresiasPolicy.hpp"

#include <algorithm>
#include <numeric>

namespace multicard {

namespace {

constexpr double kFirstQueueService = 16 * 3600;  // GPU-seconds

}  // namespace

std::vector<JobGpus> TiresiasPolicy::decide(double /*now*/, const ActiveJobs& jobs) {
  std::vector<Seen*> seen;
  for (const ReplayJob* job : jobs) {
    Seen& state = *seen.emplace_back(&seen_[job->request().name]);
    if (state.is_running) state.executed_s += round_s_;
    const double service = state.executed_s * job->request().gpus;
    if (state.demotion == 0 && state.is_running && service >= kFirstQueueService) state.demotion = ++num_demotions_;
  }
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return seen[a]->demotion < seen[b]->demotion; });

  std::vector<JobGpus> allocations(jobs.size());
  FreeGpus free(cluster_);
  int left = cluster_.num_gpus();
  for (const std::size_t i : order) {
    seen[i]->is_running = jobs[i]->request().gpus <= left;
    if (!seen[i]->is_running) continue;
    left -= jobs[i]->request().gpus;
    allocations[i] = jobs[i]->allocation();
    free.take(allocations[i]);
  }
  for (const std::size_t i : order)
    if (seen[i]->is_running && allocations[i].empty()) allocations[i] = free.take_widest(jobs[i]->request().gpus);
  return allocations;
}

}  // namespace multicard
