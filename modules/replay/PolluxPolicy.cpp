#include "replay/PolluxPolicy.hpp"

#include <algorithm>

namespace multicard {

namespace {

constexpr double kLeastSpeedUp = 1e-3;  // of a job without GPUs, whose inverse counts

}  // namespace

double PolluxPolicy::goodput(const ReplayJob& job, int gpus) const {
  const GpuPlacement placement = dense_placement(gpus, cluster_.gpus_per_node);
  const LocalBatch batch = job.model().batch(placement, job.epoch());
  return job.model().update_gain(batch.global(gpus), job.epoch()) / job.model().update_seconds(placement, batch);
}

UtilityCurve PolluxPolicy::curve(const ReplayJob& job, double now, int equal_share) {
  const int present = num_gpus(job.allocation());
  int& most_held = most_held_[job.request().name];
  most_held = std::max(most_held, present);
  const double age = now - job.request().submission_s;
  const double change = std::max(age - job.num_restarts() * restart_s_, 0.0) / (age + restart_s_);
  const double share = goodput(job, std::min(equal_share, job.model().most_gpus()));
  UtilityCurve curve(-1 / kLeastSpeedUp);
  for (const int gpus : usable_counts(job.model(), cluster_)) {
    if (gpus > std::max(2 * most_held, 1)) break;
    const double speed_up = goodput(job, gpus) / share * (gpus == present || present == 0 ? 1 : change);
    curve.add({gpus, -1 / std::max(speed_up, kLeastSpeedUp)});
  }
  return curve;
}

std::vector<JobGpus> PolluxPolicy::decide(double now, const ActiveJobs& jobs) {
  const int equal_share = std::max(cluster_.num_gpus() / static_cast<int>(jobs.size()), 1);
  const std::vector<std::size_t> order =
      least_served_first(jobs);  // where GPUs are short, those go first that were served least
  std::vector<UtilityCurve> curves;
  curves.reserve(jobs.size());
  for (const std::size_t job : order)
    curves.push_back(curve(*jobs[job], now, equal_share));
  const std::vector<int> divided = divide_gpus(curves, cluster_.num_gpus());
  std::vector<int> counts(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    counts[order[i]] = divided[i];
  return place_largest_first(cluster_, jobs, counts);
}

}  // namespace multicard
