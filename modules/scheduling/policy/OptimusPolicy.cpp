#include "scheduling/policy/OptimusPolicy.hpp"

#include <queue>

namespace multicard {

namespace {

struct Gain {
  double seconds;
  std::size_t job;
  bool operator<(const Gain& other) const {
    return seconds < other.seconds || (seconds == other.seconds && job > other.job);
  }
};

/// What one more GPU saves.
double gain_of(const TaskView& task, int gpus) {
  if (gpus >= task.model->most_gpus()) return 0;
  return (task.model->predicted_seconds(gpus) - task.model->predicted_seconds(gpus + 1)) *
         task.model->remaining_updates(task.epoch);
}

}  // namespace

// Greedy by marginal gain, as published. A job whose next GPU gains nothing gets no more, even where two more would.
std::vector<int> OptimusPolicy::counts(const ActiveTasks& tasks) const {
  std::vector<int> counts(tasks.size(), 0);
  int left = cluster_.gpus();
  std::priority_queue<Gain> gains;
  for (std::size_t i = 0; i < tasks.size() && left > 0; ++i, --left) {
    counts[i] = 1;
    gains.push({gain_of(*tasks[i], 1), i});
  }
  for (; left > 0 && !gains.empty() && gains.top().seconds > 0; --left) {
    const std::size_t best = gains.top().job;
    gains.pop();
    ++counts[best];
    gains.push({gain_of(*tasks[best], counts[best]), best});
  }
  return counts;
}

Decision OptimusPolicy::decide(double /*now*/, const ActiveTasks& tasks) {
  return {place(Layout::of_cluster(cluster_, PlacementRule::smallest_first), tasks, counts(tasks)),
          "one by one to the task that saves most time"};
}

}  // namespace multicard
