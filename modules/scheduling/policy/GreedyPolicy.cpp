#include "scheduling/policy/GreedyPolicy.hpp"

#include <cmath>

namespace multicard {

namespace {

/// Of the utility, where GPUs would change. With 0.95 and the fourth root the workloads of Pollux end sooner (17.6 h
/// instead of 18.3 h) at the same average, but those of Rubick take a tenth longer on average.
constexpr double kShareOfChange = 0.9;

}  // namespace

const std::vector<int>& GreedyPolicy::counts_of(const JobModel& model) {
  const auto found = counts_.find(&model);
  return found != counts_.end() ? found->second : counts_[&model] = usable_counts(model, cluster_);
}

ConcaveHull GreedyPolicy::curve(const TaskView& task) {
  ConcaveHull curve(0);
  const int present = task.ranks();
  double alone_s = 0;
  for (const int gpus : counts_of(*task.model)) {
    double seconds = task.model->remaining_seconds(gpus, task.epoch, task.progress);
    // Of the fewest GPUs that it can use, as if it scaled perfectly from one to those.
    if (alone_s == 0) alone_s = seconds * gpus;
    if (gpus != present) seconds += restart_s_;
    const double value = alone_s / seconds / std::sqrt(alone_s + restart_s_);
    curve.add({gpus, present > 0 && gpus != present ? value * kShareOfChange : value});
  }
  return curve;
}

Decision GreedyPolicy::decide(double /*now*/, const ActiveTasks& tasks) {
  std::vector<ConcaveHull> curves;
  for (const TaskView* task : tasks)
    curves.push_back(curve(*task));
  return {place(Layout::of_cluster(cluster_), tasks, divide_gpus(curves, cluster_.gpus())),
          "the most speed-up for what is left"};
}

}  // namespace multicard
