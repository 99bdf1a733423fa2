#pragma once
/// \file Workloads from their files.

#include <vector>

#include "scheduling/replay/ReplayOptions.hpp"
#include "scheduling/replay/Simulation.hpp"

namespace multicard {

/// What the system may choose of a job besides its GPUs.
enum class JobFreedom {
  none,           ///< batch and parallel strategy are the user's
  plan,           ///< the strategy is the best measured
  plan_and_batch  ///< and the batch adapts to the gradient noise
};

struct Workload {
  std::vector<JobRequest> jobs;  ///< in the order of their submission
  RoundTimes times;
  /// Jobs that are left out because nothing was measured of their application, and how many.
  std::vector<std::pair<std::string, int>> left_out;
};

/// Reads the files that `options` names. \throws DataError
Workload read_workload(const ReplayOptions& options, JobFreedom freedom);

}  // namespace multicard
