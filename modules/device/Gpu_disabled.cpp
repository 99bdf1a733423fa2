#include "base/Error.hpp"
#include "device/Gpu.hpp"
#include "device/NvidiaDriver.hpp"

namespace multicard {

std::vector<GpuInfo> visible_gpus() {
  return {};
}

std::optional<GpuProblem> gpu_problem() {
  GpuFindings findings;
  findings.failure = GpuFailure::not_compiled_in;
  findings.num_gpus = num_gpus_of_machine();
  findings.driver = nvidia_driver_version();
  if (findings.num_gpus == 0) return std::nullopt;
  return describe(findings);
}

GpuSoftware gpu_software() {
  GpuSoftware software;
  software.driver = nvidia_driver_version();
  return software;
}

bool peer_access(int, int) {
  return false;
}

void use_gpu(int) {
  GpuFindings findings;
  findings.failure = GpuFailure::not_compiled_in;
  const GpuProblem problem = describe(findings);
  throw EnvironmentError(problem.problem, problem.why, problem.suggestion);
}

bool gpu_path_compiled_in() {
  return false;
}

}  // namespace multicard
