#pragma once
// Jobs of tests: seconds of work on each count of GPUs.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduling/policy/SchedulingPolicy.hpp"
#include "scheduling/replay/ReplayJob.hpp"
#include "scheduling/replay/TableModel.hpp"

namespace multicard::test {

/// A model that needs `seconds` by GPUs for all of its work.
inline std::shared_ptr<const JobModel> work(const std::map<int, double>& seconds) {
  return std::make_shared<TableModel>(seconds, 1.0);
}

inline JobRequest request(const std::string& name, double submission_s, int gpus,
                          const std::map<int, double>& seconds) {
  return {name, submission_s, gpus, work(seconds)};
}

/// Counts of GPUs that a policy gave.
inline std::vector<int> counts(const std::vector<Placement>& allocations) {
  std::vector<int> counts;
  for (const Placement& allocation : allocations)
    counts.push_back(gpus_of(allocation));
  return counts;
}

/// Active jobs that a test owns.
class Jobs {
 public:
  ReplayJob& add(JobRequest request) { return *jobs_.emplace_back(std::make_unique<ReplayJob>(std::move(request))); }
  ReplayJob& operator[](std::size_t i) { return *jobs_[i]; }
  ActiveTasks active() const {
    ActiveTasks views;
    for (const auto& job : jobs_)
      views.push_back(&job->view());
    return views;
  }
  /// Lets the policy decide, and does as it says.
  std::vector<int> follow(SchedulingPolicy& policy, double now = 0) {
    const std::vector<Placement> allocations = policy.decide(now, active()).placements;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (allocations[i] != jobs_[i]->view().placement) jobs_[i]->allocate(allocations[i], 0);
    return counts(allocations);
  }

 private:
  std::vector<std::unique_ptr<ReplayJob>> jobs_;
};

}  // namespace multicard::test
