#pragma once
/// \file The policy `multicard`: GPUs by what they save of the remaining times.

#include <map>
#include <utility>

#include "replay/SchedulingPolicy.hpp"

namespace multicard {

/// Shortens the average completion time. The utility of n GPUs to a job is its speed-up over one GPU, divided by the
/// square root of its remaining time on one GPU, so that short jobs come first without starving long ones; other GPUs
/// than the present ones count a tenth less, and include the restart. The sum of utilities is raised greedily along the
/// upper hull of each job's curve, which steps over counts that bring less than the next larger one. Knows what
/// Optimus is given here: the step times and the remaining work.
class ElasticPolicy : public SchedulingPolicy {
 public:
  ElasticPolicy(const ClusterShape& cluster, double restart_s) : cluster_(cluster), restart_s_(restart_s) {}

  std::vector<Allocation> decide(double now, const ActiveJobs& jobs) override;

 private:
  struct Corner {
    int gpus;
    double utility;
  };
  /// The upper hull of the job's utility over GPUs, from none on.
  std::vector<Corner> hull(const ReplayJob& job);
  const std::vector<int>& counts_of(const JobModel& model);

  ClusterShape cluster_;
  double restart_s_;
  std::map<const JobModel*, std::vector<int>> counts_;
};

}  // namespace multicard
