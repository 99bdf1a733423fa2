#include "replay/OptimusPolicy.hpp"

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
double gain_of(const ReplayJob& job, int gpus) {
  if (gpus >= job.model().most_gpus()) return 0;
  return (job.model().predicted_seconds(gpus) - job.model().predicted_seconds(gpus + 1)) *
         job.model().remaining_updates(job.epoch());
}

}  // namespace

std::vector<int> OptimusPolicy::counts(const ActiveJobs& jobs) const {
  std::vector<int> counts(jobs.size(), 0);
  int left = cluster_.num_gpus();
  std::priority_queue<Gain> gains;
  for (std::size_t i = 0; i < jobs.size() && left > 0; ++i, --left) {
    counts[i] = 1;
    gains.push({gain_of(*jobs[i], 1), i});
  }
  for (; left > 0 && !gains.empty() && gains.top().seconds > 0; --left) {
    const std::size_t best = gains.top().job;
    gains.pop();
    ++counts[best];
    gains.push({gain_of(*jobs[best], counts[best]), best});
  }
  return counts;
}

std::vector<JobGpus> OptimusPolicy::decide(double /*now*/, const ActiveJobs& jobs) {
  return place_smallest_first(cluster_, jobs, counts(jobs));
}

}  // namespace multicard
