#pragma once
/// \file Replays of published workloads.

#include <string>
#include <vector>

#include "scheduling/replay/ReplayOptions.hpp"
#include "scheduling/replay/Simulation.hpp"

namespace multicard {

/// What one policy made of a workload.
struct ReplaySummary {
  ReplayPolicy policy = ReplayPolicy::multicard;
  int jobs = 0;
  double average_jct_s = 0;  ///< from submission to completion
  double p99_jct_s = 0;      ///< the least that 99 % of the jobs do not exceed (nearest rank, as published)
  double makespan_s = 0;     ///< from the first submission to the last completion
};

/// Replays the workload under each policy. Says which jobs it leaves out. \throws DataError
std::vector<ReplaySummary> replay(const ReplayOptions& options);

/// What became of the jobs under one policy, in the order of their completion. \throws DataError
std::vector<JobOutcome> replay_jobs(const ReplayOptions& options, ReplayPolicy policy);

ReplaySummary summary_of(ReplayPolicy policy, const std::vector<JobOutcome>& outcomes);

/// One line, numbers in full digits: {"policy","jobs","average_jct_s","p99_jct_s","makespan_s"}.
std::string json_line(const ReplaySummary& summary);

/// A table for people: a line for each policy.
std::vector<std::string> replay_report(const std::vector<ReplaySummary>& summaries);

}  // namespace multicard
