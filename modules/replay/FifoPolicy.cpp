#include "replay/FifoPolicy.hpp"

namespace multicard {

std::vector<JobGpus> FifoPolicy::decide(double /*now*/, const ActiveJobs& jobs) {
  std::vector<int> counts(jobs.size(), 0);
  int left = cluster_.num_gpus();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    counts[i] = num_gpus(jobs[i]->allocation());
    left -= counts[i];
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (counts[i] > 0) continue;
    if (jobs[i]->request().gpus <= left) {
      counts[i] = jobs[i]->request().gpus;
      left -= counts[i];
    } else if (backfill_ == Backfill::no) {
      break;
    }
  }
  return place_largest_first(cluster_, jobs, counts);
}

}  // namespace multicard
