#pragma once
/// \file Rounds of a replay.

#include <vector>

#include "scheduling/policy/SchedulingPolicy.hpp"
#include "scheduling/replay/MeasuredJobs.hpp"

namespace multicard {

/// How time passes.
struct RoundTimes {
  double round_s = 60;    ///< from one decision to the next
  double restart_s = 30;  ///< that a job waits after its GPUs have changed, also at its first start
};

/// What became of one job.
struct JobOutcome {
  std::string name;
  double submission_s = 0, completion_s = 0;
  int num_restarts = 0;
  double seconds() const { return completion_s - submission_s; }
};

/// Seconds that a job may take on the GPUs that serve it best: about a year, half a million rounds.
inline constexpr double kLongestJob = 3.2e7;

/// Plays all jobs to their ends. Every round first all jobs advance, then the policy decides for those that were
/// submitted and are not complete. \param requests in the order of their submission \param measured for policies that
/// decide by what was measured
/// \throws DataError where a job never gets GPUs, or after two million rounds, or fewer where there are many jobs and
/// nodes.
std::vector<JobOutcome> simulate(std::vector<JobRequest> requests, SchedulingPolicy& policy, const Machine& cluster,
                                 const RoundTimes& times, MeasuredJobs* measured = nullptr);

}  // namespace multicard
