#pragma once
/// \file What a results file says of the ranks of a share's tasks (docs/results_file.md, /allocation).

#include <cstdint>
#include <string>
#include <vector>

namespace multicard {

/// A task of a share on constant ranks; seconds count from the first launch.
struct AllocationInterval {
  std::string task;
  std::int64_t first_rank = 0, ranks = 0;
  double start_s = 0, end_s = 0;
  double predicted_step_s = 0, measured_step_s = 0;  ///< 0: unknown
};

/// A decided change of a task's number of ranks.
struct AllocationChange {
  double time_s = 0;
  std::string task;
  std::int64_t from = 0, to = 0;
  double predicted_gain = 0;  ///< of the objective, as a share; of all changes at one time together
  double cost_s = 0;          ///< of the moves
  std::string reason;
};

/// Seconds that training would have taken under another policy, and their limits.
struct AllocationBaseline {
  std::string policy;
  double predicted_s = 0, low_s = 0, high_s = 0;
  std::string reason;  ///< what is wrong with the limits, or why nothing is predicted (0 s); else empty
};

struct AllocationRecord {
  std::vector<AllocationInterval> intervals;  ///< by start; empty for files that are not of a share
  std::vector<AllocationChange> changes;
  std::vector<AllocationBaseline> baselines;
};

}  // namespace multicard
