#include "device/Device.hpp"

#include <cstdlib>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/System.hpp"
#include "device/BatchUploader.hpp"
#include "device/Memory.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

GpuInfo gpu(const std::string& bus_id, const std::string& uuid) {
  GpuInfo info;
  info.bus_id = bus_id;
  info.uuid = uuid;
  return info;
}

TEST(ChooseDevice, TakesTheCpuWhenAsked) {
  const DeviceChoice choice = choose_device(DeviceRequest::cpu, ShareGpu::no, world(), find_topology(world()));

  EXPECT_TRUE(choice.device.is_cpu());
  EXPECT_FALSE(choice.gpu);
  EXPECT_EQ(choice.description.rfind("cpu (" + cpu_model(), 0), 0U) << choice.description;
}

TEST(ChooseDevice, WithoutGpusAutoIsTheCpuAndCudaIsAnErrorOfAllRanks) {
  if (!visible_gpus().empty()) GTEST_SKIP() << "there is a GPU";
  const Topology topology = find_topology(world());

  EXPECT_TRUE(choose_device(DeviceRequest::automatic, ShareGpu::no, world(), topology).device.is_cpu());
  try {
    choose_device(DeviceRequest::cuda, ShareGpu::no, world(), topology);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_NE(error.suggestion().find("run.device=cpu"), std::string::npos) << error.what();
  }
}

TEST(RanksOnOneGpu, FindsEqualBusIdOrUuidOnOneNodeOnly) {
  const std::vector<int> nodes{0, 0, 2, 2};

  EXPECT_TRUE(ranks_on_one_gpu(nodes, {gpu("1", "u1"), gpu("2", "u2"), gpu("1", "u3"), gpu("2", "u4")}).empty());
  EXPECT_EQ(ranks_on_one_gpu(nodes, {gpu("1", "u1"), gpu("2", "u2"), gpu("1", "u3"), gpu("1", "u3")}),
            (std::vector<int>{2, 3}));
  EXPECT_EQ(ranks_on_one_gpu(nodes, {gpu("1", "same"), gpu("2", "same"), gpu("1", "u3"), gpu("2", "u4")}),
            (std::vector<int>{0, 1}));
}

TEST(ComputeThreads, AreThoseOfOpenMpElseAFairShare) {
  const Topology topology = find_topology(world());
  setenv("OMP_NUM_THREADS", "3", 1);
  EXPECT_EQ(compute_threads(topology), 3);
  set_compute_threads(topology);
  EXPECT_EQ(at::get_num_threads(), 3);

  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(compute_threads(topology), std::max(1, available_cpus() / world().size()));
}

TEST(Numerics, DeterminismAndTf32ReachLibTorch) {
  const ComputeSwitches before = compute_switches();
  set_compute_switches(switches_for({.is_deterministic = true}));
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  EXPECT_FALSE(at::globalContext().benchmarkCuDNN());
  set_compute_switches(switches_for({.is_deterministic = false}));
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());

  set_compute_switches(switches_for({.tf32 = Tf32::on}));
  EXPECT_TRUE(at::globalContext().allowTF32CuBLAS());
  set_compute_switches(switches_for({.tf32 = Tf32::off}));
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
  EXPECT_FALSE(at::globalContext().allowTF32CuDNN());
  set_compute_switches(before);
}

TEST(Numerics, AllSwitchesCanBeGivenBack) {
  const ComputeSwitches before = compute_switches();
  at::globalContext().setAllowTF32CuDNN(true);  // LibTorch's default, unlike that of matrix products
  at::globalContext().setBenchmarkCuDNN(true);
  const ComputeSwitches changed = compute_switches();
  EXPECT_NE(changed.tf32_cudnn, changed.tf32_matmul);

  set_compute_switches(
      switches_for({.num_threads = changed.num_threads + 1, .tf32 = Tf32::on, .is_deterministic = true}));
  EXPECT_FALSE(compute_switches() == changed);
  set_compute_switches(changed);
  EXPECT_TRUE(compute_switches() == changed);
  set_compute_switches(before);
}

TEST(DeviceMemory, IsZeroOnTheCpu) {
  reset_peak_device_memory(at::kCPU);
  EXPECT_EQ(device_memory(at::kCPU).peak_allocated, 0);
}

TEST(BatchUploader, HandsBatchesOnInOrderOnTheCpu) {
  const auto uploader = make_batch_uploader(at::kCPU);
  at::Tensor none;

  uploader->start({none});
  uploader->start({none, none});

  EXPECT_EQ(uploader->num_started(), 2U);
  EXPECT_EQ(uploader->take().size(), 1U);
  EXPECT_EQ(uploader->take().size(), 2U);
  EXPECT_EQ(uploader->bytes_copied(), 0);
  EXPECT_THROW(uploader->take(), std::logic_error);
}

}  // namespace
}  // namespace multicard
