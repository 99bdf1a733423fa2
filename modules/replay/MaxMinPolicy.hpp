#pragma once
/// \file The same share of its best speed for every job.

#include <map>
#include <string>

#include "replay/SchedulingPolicy.hpp"

namespace multicard {

/// Raises the least of the jobs' speeds, each as a share of the job's best speed alone in the cluster, as far as GPUs
/// last. Where there are more jobs than GPUs, those go first that were served least.
class MaxMinPolicy : public SchedulingPolicy {
 public:
  explicit MaxMinPolicy(const ClusterShape& cluster) : cluster_(cluster) {}

  std::vector<JobGpus> decide(double now, const ActiveJobs& jobs) override;

 private:
  /// A usable count of GPUs that is faster than all smaller ones.
  struct Level {
    int gpus;
    double share;  ///< of the best speed
  };
  const std::vector<Level>& levels(const ReplayJob& job);

  ClusterShape cluster_;
  std::map<const JobModel*, std::vector<Level>> levels_;
};

}  // namespace multicard
