#pragma once
/// \file The policy `multicard`: GPUs by what they save of the remaining times.

#include <map>
#include <vector>

#include "replay/SchedulingPolicy.hpp"
#include "replay/UtilityCurve.hpp"

namespace multicard {

/// Shortens the average completion time. The utility of n GPUs to a job is its speed-up over one GPU, divided by the
/// square root of its remaining time on one GPU, so that short jobs come first without starving long ones; other GPUs
/// than the present ones count a tenth less, and include the restart. Knows what Optimus is given here: the step times
/// and the remaining work.
class ElasticPolicy : public SchedulingPolicy {
 public:
  ElasticPolicy(const ClusterShape& cluster, double restart_s) : cluster_(cluster), restart_s_(restart_s) {}

  std::vector<JobGpus> decide(double now, const ActiveJobs& jobs) override;

 private:
  UtilityCurve curve(const ReplayJob& job);
  const std::vector<int>& counts_of(const JobModel& model);

  ClusterShape cluster_;
  double restart_s_;
  std::map<const JobModel*, std::vector<int>> counts_;
};

}  // namespace multicard
