#pragma once
/// \file GPUs by marginal gain (Optimus, EuroSys 2018), with the true step times and remaining updates.

#include "replay/SchedulingPolicy.hpp"

namespace multicard {

/// Every job gets one GPU in order; then one at a time goes to the job whose remaining time shrinks most by it.
class OptimusPolicy : public SchedulingPolicy {
 public:
  explicit OptimusPolicy(const ClusterShape& cluster) : cluster_(cluster) {}

  std::vector<JobGpus> decide(double now, const ActiveJobs& jobs) override;

 private:
  std::vector<int> counts(const ActiveJobs& jobs) const;

  ClusterShape cluster_;
};

}  // namespace multicard
