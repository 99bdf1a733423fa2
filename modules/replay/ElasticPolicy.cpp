#include "replay/ElasticPolicy.hpp"

#include <cmath>

namespace multicard {

namespace {

/// Of the utility, where GPUs would change. With 0.95 and the fourth root the workloads of Pollux end sooner (17.6 h
/// instead of 18.3 h) at the same average, but those of Rubick take a tenth longer on average.
constexpr double kShareOfChange = 0.9;

}  // namespace

const std::vector<int>& ElasticPolicy::counts_of(const JobModel& model) {
  const auto found = counts_.find(&model);
  return found != counts_.end() ? found->second : counts_[&model] = usable_counts(model, cluster_);
}

UtilityCurve ElasticPolicy::curve(const ReplayJob& job) {
  UtilityCurve curve(0);
  const int present = num_gpus(job.allocation());
  double alone_s = 0;
  for (const int gpus : counts_of(job.model())) {
    double seconds = job.model().remaining_seconds(gpus, job.epoch(), job.progress());
    if (alone_s == 0) alone_s = seconds * gpus;
    if (gpus != present) seconds += restart_s_;
    const double value = alone_s / seconds / std::sqrt(alone_s + restart_s_);
    curve.add({gpus, present > 0 && gpus != present ? value * kShareOfChange : value});
  }
  return curve;
}

std::vector<JobGpus> ElasticPolicy::decide(double /*now*/, const ActiveJobs& jobs) {
  std::vector<UtilityCurve> curves;
  for (const ReplayJob* job : jobs)
    curves.push_back(curve(*job));
  return place_largest_first(cluster_, jobs, divide_gpus(curves, cluster_.num_gpus()));
}

}  // namespace multicard
