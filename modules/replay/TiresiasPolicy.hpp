#pragma once
/// \file Least attained service in two queues (Tiresias, NSDI 2019).

#include <map>
#include <string>

#include "replay/SchedulingPolicy.hpp"

namespace multicard {

/// Jobs with the GPUs that users asked for. A job that has run for 16 GPU-hours goes behind those that have not, for
/// good. In that order every job runs whose GPUs fit into what is left; the others wait and lose theirs.
class TiresiasPolicy : public SchedulingPolicy {
 public:
  TiresiasPolicy(const ClusterShape& cluster, double round_s) : cluster_(cluster), round_s_(round_s) {}

  std::vector<JobGpus> decide(double now, const ActiveJobs& jobs) override;

 private:
  struct Seen {
    double executed_s = 0;
    int demotion = 0;  ///< 0 in the first queue, else the place in the order of demotions
    bool is_running = false;
  };

  ClusterShape cluster_;
  double round_s_;
  std::map<std::string, Seen> seen_;  ///< by the names of jobs
  int num_demotions_ = 0;
};

}  // namespace multicard
