#pragma once
/// \file Least attained service in two queues (Tiresias, NSDI 2019).

#include <map>
#include <string>

#include "scheduling/policy/SchedulingPolicy.hpp"

namespace multicard {

/// Jobs with the GPUs that users asked for. A job that has run for 16 GPU-hours is queued after those that have not,
/// for good. In that order every job runs whose GPUs fit into what is left; the others wait and lose theirs.
class TiresiasPolicy : public SchedulingPolicy {
 public:
  TiresiasPolicy(const Machine& cluster, double round_s) : cluster_(cluster), round_s_(round_s) {}

  Decision decide(double now, const ActiveTasks& tasks) override;

 private:
  struct Seen {
    double executed_s = 0;
    int demotion = 0;  ///< 0 in the first queue, else the place in the order of demotions
    bool is_running = false;
  };

  Machine cluster_;
  double round_s_;
  std::map<std::string, Seen> seen_;  ///< by the names of tasks
  int num_demotions_ = 0;
};

}  // namespace multicard
