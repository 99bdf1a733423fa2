#pragma once
/// \file The same share of its best speed for every job.

#include <map>
#include <string>

#include "scheduling/policy/SchedulingPolicy.hpp"

namespace multicard {

/// Raises the least of the tasks' speeds, each as a share of the job's best speed alone in the cluster, as far as GPUs
/// last. Where there are more tasks than GPUs, those go first that were served least.
class MaxMinPolicy : public SchedulingPolicy {
 public:
  explicit MaxMinPolicy(const Machine& cluster) : cluster_(cluster) {}

  Decision decide(double now, const ActiveTasks& tasks) override;

 private:
  /// A usable count of GPUs that is faster than all smaller ones.
  struct Level {
    int gpus;
    double share;  ///< of the best speed
  };
  const std::vector<Level>& levels(const TaskView& task);

  Machine cluster_;
  std::map<const JobModel*, std::vector<Level>> levels_;
};

}  // namespace multicard
