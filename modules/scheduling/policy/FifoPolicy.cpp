#include "scheduling/policy/FifoPolicy.hpp"

namespace multicard {

// Without preemption: jobs that run keep their GPUs. Without backfilling the first job that does not fit holds up all
// later ones, as small jobs could otherwise overtake it for ever.
Decision FifoPolicy::decide(double /*now*/, const ActiveTasks& tasks) {
  std::vector<int> counts(tasks.size(), 0);
  int left = cluster_.gpus();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    counts[i] = tasks[i]->ranks();
    left -= counts[i];
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (counts[i] > 0) continue;
    if (tasks[i]->requested <= left) {
      counts[i] = tasks[i]->requested;
      left -= counts[i];
    } else if (backfill_ == Backfill::no) {
      break;
    }
  }
  return {place(Layout::of_cluster(cluster_), tasks, counts), "in the order of submission"};
}

}  // namespace multicard
