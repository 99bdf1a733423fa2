#include "scheduling/policy/PolluxPolicy.hpp"

#include <algorithm>

namespace multicard {

namespace {

constexpr double kLeastSpeedUp = 1e-3;  // of a job without GPUs, whose inverse counts

}  // namespace

double PolluxPolicy::goodput(const TaskView& task, int gpus) const {
  const GpuPlacement placement = dense_placement(gpus, cluster_.gpus_per_node);
  const LocalBatch batch = task.model->batch(placement, task.epoch);
  return task.model->update_gain(batch.global(gpus), task.epoch) / task.model->update_seconds(placement, batch);
}

// The harmonic mean of speed-ups is largest where the sum of their inverses is smallest. As a sum of one term a job, it
// can be divided by hulls; the term of a job without GPUs is large, but finite.
ConcaveHull PolluxPolicy::curve(const TaskView& task, double now, int equal_share) {
  const int present = task.ranks();
  int& most_held = most_held_[task.name];
  most_held = std::max(most_held, present);
  const double age = now - task.submitted_s;
  const double change = std::max(age - task.num_restarts * restart_s_, 0.0) / (age + restart_s_);
  const double share = goodput(task, std::min(equal_share, task.model->most_gpus()));
  ConcaveHull curve(-1 / kLeastSpeedUp);
  for (const int gpus : usable_counts(*task.model, cluster_)) {
    // As published: a model of its throughput is not trusted beyond twice of what it has seen.
    if (gpus > std::max(2 * most_held, 1)) break;
    const double speed_up = goodput(task, gpus) / share * (gpus == present || present == 0 ? 1 : change);
    curve.add({gpus, -1 / std::max(speed_up, kLeastSpeedUp)});
  }
  return curve;
}

Decision PolluxPolicy::decide(double now, const ActiveTasks& tasks) {
  const int equal_share = std::max(cluster_.gpus() / static_cast<int>(tasks.size()), 1);
  const std::vector<std::size_t> order =
      least_served_first(tasks);  // where GPUs are short, those go first that were served least
  std::vector<ConcaveHull> curves;
  curves.reserve(tasks.size());
  for (const std::size_t task : order)
    curves.push_back(curve(*tasks[task], now, equal_share));
  const std::vector<int> divided = divide_gpus(curves, cluster_.gpus());
  std::vector<int> counts(tasks.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    counts[order[i]] = divided[i];
  return {place(Layout::of_cluster(cluster_), tasks, counts), "the largest harmonic mean of speed-ups"};
}

}  // namespace multicard
