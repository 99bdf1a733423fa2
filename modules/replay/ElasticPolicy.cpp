#include "replay/ElasticPolicy.hpp"

#include <cmath>
#include <queue>

namespace multicard {

namespace {

/// Of the utility, where GPUs would change. The best of 0.7, 0.8 and 0.9 on the published workloads.
constexpr double kShareOfChange = 0.9;

/// From one corner of a job's hull to the next.
struct Step {
  double slope;
  std::size_t job, next;
  bool operator<(const Step& other) const { return slope < other.slope || (slope == other.slope && job > other.job); }
};

double slope(int gpus_a, double utility_a, int gpus_b, double utility_b) {
  return (utility_b - utility_a) / (gpus_b - gpus_a);
}

}  // namespace

const std::vector<int>& ElasticPolicy::counts_of(const JobModel& model) {
  const auto found = counts_.find(&model);
  return found != counts_.end() ? found->second : counts_[&model] = usable_counts(model, cluster_);
}

std::vector<ElasticPolicy::Corner> ElasticPolicy::hull(const ReplayJob& job) {
  std::vector<Corner> hull{{0, 0}};
  const std::vector<int>& counts = counts_of(job.model());
  const int present = num_gpus(job.allocation());
  double alone_s = 0;
  for (const int gpus : counts) {
    double seconds = job.model().remaining_seconds(gpus, job.epoch(), job.progress());
    if (gpus == counts.front()) alone_s = seconds * gpus;
    if (gpus != present) seconds += restart_s_;
    double utility = alone_s / seconds / std::sqrt(alone_s + restart_s_);
    if (present > 0 && gpus != present) utility *= kShareOfChange;
    if (utility <= hull.back().utility) continue;
    while (hull.size() > 1) {
      const Corner &a = hull[hull.size() - 2], &b = hull.back();
      if (slope(a.gpus, a.utility, b.gpus, b.utility) > slope(b.gpus, b.utility, gpus, utility)) break;
      hull.pop_back();
    }
    hull.push_back({gpus, utility});
  }
  return hull;
}

std::vector<Allocation> ElasticPolicy::decide(double /*now*/, const ActiveJobs& jobs) {
  std::vector<std::vector<Corner>> hulls;
  std::priority_queue<Step> steps;
  const auto offer = [&](std::size_t job, std::size_t next) {
    if (next == hulls[job].size()) return;
    const Corner &a = hulls[job][next - 1], &b = hulls[job][next];
    steps.push({slope(a.gpus, a.utility, b.gpus, b.utility), job, next});
  };
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    hulls.push_back(hull(*jobs[i]));
    offer(i, 1);
  }
  std::vector<int> counts(jobs.size(), 0);
  int left = cluster_.num_gpus();
  while (left > 0 && !steps.empty()) {
    const Step best = steps.top();
    steps.pop();
    const int gpus = hulls[best.job][best.next].gpus;
    if (gpus - counts[best.job] > left) continue;
    left -= gpus - counts[best.job];
    counts[best.job] = gpus;
    offer(best.job, best.next + 1);
  }
  return place_largest_first(cluster_, jobs, counts);
}

}  // namespace multicard
