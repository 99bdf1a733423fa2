// The checklist of `multicard info`, over made-up machines.
#include "device/GpuChecks.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "device/NumaNodes.hpp"

namespace multicard {
namespace {

GpuInfo gpu(int index, int numa_node) {
  GpuInfo one;
  one.index = index;
  one.name = "NVIDIA H100 80GB HBM3";
  one.numa_node = numa_node;
  return one;
}

/// A rank on a node where all is as it should be.
GpuSituation good_machine() {
  GpuSituation situation;
  situation.compiled_in = true;
  situation.software = {"580.65.06", "13.0", "13.0", "9.19.0", "2.28.9", "/lib/libnccl.so.2"};
  situation.gpus = {gpu(0, 0), gpu(1, 0)};
  situation.chosen = situation.gpus.front();
  situation.numa_nodes = {0};
  return situation;
}

Check check_named(const std::string& name, const GpuSituation& situation) {
  for (const Check& check : gpu_checks(situation))
    if (check.name == name) return check;
  ADD_FAILURE() << "no check " << name;
  return {};
}

TEST(GpuChecks, AGoodMachinePassesAll) {
  for (const Check& check : gpu_checks(good_machine()))
    EXPECT_EQ(check.result, CheckResult::passed) << check.name << ": " << check.found;
}

TEST(GpuChecks, WithoutGpusNothingFails) {
  for (const Check& check : gpu_checks({}))
    EXPECT_EQ(check.result, CheckResult::not_checked) << check.name << ": " << check.found;
}

TEST(GpuChecks, AProblemFailsTheCheckItBelongsTo) {
  const std::pair<GpuProblem, std::string> cases[] = {
      {{GpuFailure::not_compiled_in, "built without", "", "build"}, "GPU path"},
      {{GpuFailure::driver_too_old, "too old", "", "update"}, "driver"},
      {{GpuFailure::no_driver_library, "no libcuda", "", "install"}, "driver"},
      {{GpuFailure::hidden, "sees none", "", "ask"}, "GPUs"},
      {{GpuFailure::library, "libcudnn.so.9 cannot be loaded", "", "setup"}, "cuDNN"},
      {{GpuFailure::library, "libnccl.so.2 cannot be loaded", "", "setup"}, "NCCL"},
      {{GpuFailure::library, "libcublas.so.13 cannot be loaded", "", "setup"}, "CUDA runtime"}};
  for (const auto& [problem, name] : cases) {
    GpuSituation situation = good_machine();
    situation.problem = problem;

    const std::vector<Check> checks = gpu_checks(situation);

    const auto failed = [](const Check& check) { return check.result == CheckResult::failed; };
    ASSERT_EQ(std::count_if(checks.begin(), checks.end(), failed), 1) << name;
    const Check& check = *std::find_if(checks.begin(), checks.end(), failed);
    EXPECT_EQ(check.name, name);
    EXPECT_EQ(check.advice, problem.suggestion);
  }
}

TEST(GpuChecks, PairsWithoutPeerAccessAreCounted) {
  GpuSituation situation = good_machine();
  situation.unreached = {{0, 1}, {1, 0}};

  const Check check = check_named("peer access", situation);

  EXPECT_EQ(check.result, CheckResult::failed);
  EXPECT_EQ(check.found, "2 of 2 pairs without it, GPU 0 does not reach GPU 1");
}

TEST(GpuChecks, ProcessorsOnAnotherNodeThanTheGpuFail) {
  GpuSituation situation = good_machine();
  situation.numa_nodes = {0, 1};
  EXPECT_EQ(check_named("NUMA", situation).result, CheckResult::failed);

  situation.numa_nodes = {1};
  EXPECT_EQ(check_named("NUMA", situation).result, CheckResult::failed);

  situation.chosen->numa_node = -1;
  EXPECT_EQ(check_named("NUMA", situation).result, CheckResult::not_checked);
}

TEST(NumaNodes, ListsAreReadAsTheKernelWritesThem) {
  EXPECT_EQ(numbers_in("0-2,8,10-11"), (std::vector<int>{0, 1, 2, 8, 10, 11}));
  EXPECT_TRUE(numbers_in("").empty());
}

TEST(NumaNodes, AreThoseThatHoldTheProcessors) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("multicard-numa-" + std::to_string(getpid()));
  const std::pair<const char*, const char*> nodes[] = {
      {"node0", "0-3,16-19"}, {"node1", "4-7,20-23"}, {"node10", "8-15"}, {"nodes", "0-99"}};
  for (const auto& [name, cpus] : nodes) {
    fs::create_directories(folder / name);
    std::ofstream(folder / name / "cpulist") << cpus << "\n";
  }

  EXPECT_EQ(numa_nodes_of("17", folder), (std::vector<int>{0}));
  EXPECT_EQ(numa_nodes_of("3-4,9", folder), (std::vector<int>{0, 1, 10}));
  EXPECT_TRUE(numa_nodes_of("3", folder / "none").empty());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace multicard
