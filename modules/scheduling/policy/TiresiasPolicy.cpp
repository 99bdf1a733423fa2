#include "scheduling/policy/TiresiasPolicy.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "scheduling/solve/FreeGpus.hpp"

namespace multicard {

namespace {

constexpr double kFirstQueueService = 16 * 3600;  // GPU-seconds

}  // namespace

Decision TiresiasPolicy::decide(double /*now*/, const ActiveTasks& tasks) {
  std::vector<Seen*> seen;
  for (const TaskView* task : tasks) {
    Seen& state = *seen.emplace_back(&seen_[task->name]);
    // The state is that of the last decision, so this counts the round that has just ended, restarts included.
    if (state.is_running) state.executed_s += round_s_;
    const double service = state.executed_s * task->requested;
    if (state.demotion == 0 && state.is_running && service >= kFirstQueueService) state.demotion = ++num_demotions_;
  }
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return seen[a]->demotion < seen[b]->demotion; });

  std::vector<Placement> places(tasks.size());
  FreeGpus free(cluster_);
  int left = cluster_.gpus();
  // Who runs is decided first, and those that ran before keep their places; then the new ones choose theirs.
  for (const std::size_t i : order) {
    seen[i]->is_running = tasks[i]->requested <= left;
    if (!seen[i]->is_running) continue;
    left -= tasks[i]->requested;
    places[i] = tasks[i]->placement;
    free.take(places[i]);
  }
  for (const std::size_t i : order)
    if (seen[i]->is_running && places[i].empty()) places[i] = free.take_widest(tasks[i]->requested);
  return {std::move(places), "the least served queue first"};
}

}  // namespace multicard
