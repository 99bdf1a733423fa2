#pragma once
/// \file The checklist of `multicard info`: what a rank needs of its machine to compute on a GPU at full speed.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/Gpu.hpp"

namespace multicard {

enum class CheckResult { passed, failed, not_checked };

struct Check {
  std::string name;    ///< "driver"
  CheckResult result;  ///< not_checked where there is nothing to hold it against
  std::string found;   ///< "580.65.06, serves CUDA up to 13.0"
  std::string advice;  ///< what to do when it failed
};

/// What the checks look at, of one rank.
struct GpuSituation {
  bool compiled_in = false;
  GpuSoftware software;
  std::vector<GpuInfo> gpus;
  std::optional<GpuProblem> problem;
  std::optional<GpuInfo> chosen;               ///< the GPU of this rank
  std::vector<std::pair<int, int>> unreached;  ///< pairs of GPUs (from, to) without peer access
  std::vector<int> numa_nodes;                 ///< of this rank's processors
};

/// \param chosen the GPU of this rank, if it computes on one
GpuSituation gpu_situation(const std::optional<GpuInfo>& chosen);

/// GPU path, driver, GPUs, CUDA runtime, cuDNN, NCCL, peer access and NUMA, always these and in this order.
std::vector<Check> gpu_checks(const GpuSituation& situation);

}  // namespace multicard
