#pragma once
/// \file Pollux's objective (OSDI 2021).

#include <map>
#include <string>
#include <vector>

#include "scheduling/policy/SchedulingPolicy.hpp"
#include "scheduling/solve/ConcaveHull.hpp"

namespace multicard {

/// Raises the harmonic mean of the tasks' speed-ups: goodput (progress a second, with the batch that makes most of the
/// present gradient noise) over the goodput at an equal share of the GPUs. Other GPUs than the present ones count by
/// (age - restarts * restart time) / (age + restart time). A job gets at most twice the most GPUs that it ever held.
/// Pollux fits a model to the step times that it has seen and searches with a genetic algorithm; here the measured
/// times and a greedy search stand in for both, so that results can be reproduced. Remaining work is not known.
class PolluxPolicy : public SchedulingPolicy {
 public:
  PolluxPolicy(const Machine& cluster, double restart_s) : cluster_(cluster), restart_s_(restart_s) {}

  Decision decide(double now, const ActiveTasks& tasks) override;

 private:
  ConcaveHull curve(const TaskView& task, double now, int equal_share);
  double goodput(const TaskView& task, int gpus) const;

  Machine cluster_;
  double restart_s_;
  std::map<std::string, int> most_held_;  ///< by the names of tasks
};

}  // namespace multicard
