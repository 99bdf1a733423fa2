#pragma once
/// \file The policy `greedy`: GPUs by what they save of the remaining times.

#include <map>
#include <vector>

#include "scheduling/policy/SchedulingPolicy.hpp"
#include "scheduling/solve/ConcaveHull.hpp"

namespace multicard {

/// Shortens the average completion time. The utility of n GPUs to a job is its speed-up over one GPU, divided by the
/// square root of its remaining time on one GPU, so that short tasks come first without starving long ones; other GPUs
/// than the present ones count a tenth less, and include the restart. Knows what Optimus is given here: the step times
/// and the remaining work.
class GreedyPolicy : public SchedulingPolicy {
 public:
  GreedyPolicy(const Machine& cluster, double restart_s) : cluster_(cluster), restart_s_(restart_s) {}

  Decision decide(double now, const ActiveTasks& tasks) override;

 private:
  ConcaveHull curve(const TaskView& task);
  const std::vector<int>& counts_of(const JobModel& model);

  Machine cluster_;
  double restart_s_;
  std::map<const JobModel*, std::vector<int>> counts_;
};

}  // namespace multicard
