#include "device/GpuChecks.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/System.hpp"
#include "device/NumaNodes.hpp"

namespace multicard {

namespace {

Check passed(const std::string& name, const std::string& found) {
  return {name, CheckResult::passed, found, ""};
}

Check failed(const std::string& name, const std::string& found, const std::string& advice) {
  return {name, CheckResult::failed, found, advice};
}

Check not_checked(const std::string& name, const std::string& found) {
  return {name, CheckResult::not_checked, found, ""};
}

/// Which check a failure belongs to.
std::string check_of(const GpuProblem& problem) {
  switch (problem.failure) {
    case GpuFailure::not_compiled_in:
      return "GPU path";
    case GpuFailure::driver_too_old:
    case GpuFailure::no_driver_library:
    case GpuFailure::driver_mismatch:
    case GpuFailure::compat_refused:
      return "driver";
    case GpuFailure::library:
      if (problem.problem.starts_with("libcudnn")) return "cuDNN";
      if (problem.problem.starts_with("libnccl")) return "NCCL";
      return "CUDA runtime";
    case GpuFailure::hidden:
    case GpuFailure::not_ready:
    case GpuFailure::other:
      break;
  }
  return "GPUs";
}

/// A version that is there passes; nothing is said of one that is not loaded.
Check version_check(const std::string& name, const std::string& version, const std::string& more = "") {
  return version.empty() ? not_checked(name, "not loaded") : passed(name, version + more);
}

Check driver_check(const GpuSoftware& software) {
  if (software.driver.empty() && software.cuda_driver.empty()) return not_checked("driver", "none");
  std::string found = software.driver.empty() ? "version not known" : software.driver;
  if (!software.cuda_driver.empty()) found += ", serves CUDA up to " + software.cuda_driver;
  return passed("driver", found);
}

Check gpus_check(const std::vector<GpuInfo>& gpus) {
  if (gpus.empty()) return not_checked("GPUs", "none");
  const bool are_equal =
      std::all_of(gpus.begin(), gpus.end(), [&](const GpuInfo& gpu) { return gpu.name == gpus.front().name; });
  return passed("GPUs", fmt::format("{} x {}", gpus.size(), are_equal ? gpus.front().name : "of several kinds"));
}

Check peer_check(const GpuSituation& situation) {
  constexpr const char* name = "peer access";
  if (situation.gpus.size() < 2)
    return not_checked(name, situation.gpus.empty() ? "no GPU" : "one GPU is visible to this rank");
  if (situation.unreached.empty())
    return passed(name, fmt::format("all {} GPUs reach each other", situation.gpus.size()));
  const auto [from, to] = situation.unreached.front();
  return failed(name,
                fmt::format("{} of {} pairs without it, GPU {} does not reach GPU {}", situation.unreached.size(),
                            situation.gpus.size() * (situation.gpus.size() - 1), from, to),
                "NCCL goes through host memory there: look at nvidia-smi topo -m and at IOMMU and ACS (docs/gpu.md).");
}

Check numa_check(const GpuSituation& situation) {
  constexpr const char* name = "NUMA";
  if (!situation.chosen) return not_checked(name, "no GPU");
  const int node = situation.chosen->numa_node;
  if (node < 0 || situation.numa_nodes.empty()) return not_checked(name, "the system does not report it");
  if (situation.numa_nodes == std::vector<int>{node})
    return passed(name, fmt::format("processors and GPU on node {}", node));
  return failed(name,
                fmt::format("processors on nodes {}, GPU on node {}", fmt::join(situation.numa_nodes, ", "), node),
                "Bind each rank to the processors next to its GPU (docs/gpu.md, \"Ranks, GPUs and NUMA\").");
}

}  // namespace

GpuSituation gpu_situation(const std::optional<GpuInfo>& chosen) {
  GpuSituation situation;
  situation.compiled_in = gpu_path_compiled_in();
  situation.gpus = visible_gpus();
  situation.problem = gpu_problem();
  situation.software = gpu_software();
  situation.chosen = chosen;
  situation.numa_nodes = numa_nodes_of(cpu_set_text());
  // Both ways: access may be allowed in one direction alone.
  for (const GpuInfo& from : situation.gpus)
    for (const GpuInfo& to : situation.gpus)
      if (from.index != to.index && !peer_access(from.index, to.index))
        situation.unreached.emplace_back(from.index, to.index);
  return situation;
}

std::vector<Check> gpu_checks(const GpuSituation& situation) {
  const GpuSoftware& software = situation.software;
  std::vector<Check> checks{
      situation.compiled_in ? passed("GPU path", "built in") : not_checked("GPU path", "not built in"),
      driver_check(software),
      gpus_check(situation.gpus),
      version_check("CUDA runtime", software.cuda_runtime),
      version_check("cuDNN", software.cudnn),
      version_check("NCCL", software.nccl, fmt::format(" ({})", software.nccl_path)),
      peer_check(situation),
      numa_check(situation)};
  if (!situation.problem) return checks;
  const std::string name = check_of(*situation.problem);
  const auto at = std::find_if(checks.begin(), checks.end(), [&](const Check& check) { return check.name == name; });
  *at = failed(name, fmt::format("{} ({})", situation.problem->problem, situation.problem->why),
               situation.problem->suggestion);
  return checks;
}

}  // namespace multicard
