// What a person is told where GPUs cannot be used, and where the facts come from.
#include "device/GpuProblem.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "device/Device.hpp"
#include "device/NvidiaDriver.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersionLine =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n";

/// The driver's folder of a machine with `num_gpus` GPUs, for as long as the object lives.
class FakeDriverFolder {
 public:
  explicit FakeDriverFolder(int num_gpus)
      : folder_(fs::temp_directory_path() / ("multicard-driver-" + std::to_string(getpid()))) {
    for (int gpu = 0; gpu < num_gpus; ++gpu)
      fs::create_directories(folder_ / "gpus" / ("0000:" + std::to_string(18 + gpu) + ":00.0"));
    fs::create_directories(folder_);
    std::ofstream(folder_ / "version") << kVersionLine << "GCC version:  gcc version 12.2.0\n";
    setenv("MULTICARD_NVIDIA_PROC", folder_.c_str(), 1);
  }
  ~FakeDriverFolder() {
    unsetenv("MULTICARD_NVIDIA_PROC");
    fs::remove_all(folder_);
  }
  FakeDriverFolder(const FakeDriverFolder&) = delete;
  FakeDriverFolder& operator=(const FakeDriverFolder&) = delete;
  const fs::path& path() const { return folder_; }

 private:
  fs::path folder_;
};

GpuFindings findings(GpuFailure failure, const std::string& error) {
  GpuFindings one;
  one.failure = failure;
  one.error = error;
  one.driver = "550.54.15";
  one.cuda_driver = "12.4";
  one.cuda_runtime = "13.0";
  one.num_gpus = 4;
  return one;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(GpuProblem, AnOldDriverIsNamedWithTheOneThatIsNeeded) {
  const GpuProblem problem = describe(findings(GpuFailure::driver_too_old, "insufficient"));

  EXPECT_EQ(problem.problem, "the NVIDIA driver 550.54.15 is too old for CUDA 13.0");
  EXPECT_EQ(problem.why, "it serves CUDA up to 12.4, CUDA 13 needs driver 580 or newer; insufficient");
  EXPECT_TRUE(holds(problem.suggestion, "cuda-compat-13-0")) << problem.suggestion;
}

TEST(GpuProblem, EachCudaMajorHasItsOldestDriver) {
  EXPECT_EQ(driver_needed_for("13.0"), "580");
  EXPECT_EQ(driver_needed_for("12.8"), "525");
  EXPECT_EQ(driver_needed_for("14.1"), "");
}

TEST(GpuProblem, AMissingLibraryIsNamedWithItsCure) {
  const GpuProblem missing = describe(
      findings(GpuFailure::library, "libcudnn.so.9: cannot open shared object file: No such file or directory"));
  const GpuProblem other =
      describe(findings(GpuFailure::library, "/opt/torch/lib/libtorch_cuda.so: undefined symbol: ncclAlltoAll"));

  EXPECT_EQ(missing.problem, "libcudnn.so.9 cannot be loaded");
  EXPECT_TRUE(holds(missing.suggestion, "scripts/setup.sh --gpu")) << missing.suggestion;
  EXPECT_EQ(other.problem, "libtorch_cuda.so cannot be loaded");
  EXPECT_TRUE(holds(other.suggestion, "another version")) << other.suggestion;
}

TEST(GpuProblem, HiddenGpusNameTheVariableThatHidesThem) {
  GpuFindings one = findings(GpuFailure::hidden, "no device");
  one.visible_devices = "7";

  EXPECT_TRUE(holds(describe(one).why, "the machine has 4, CUDA_VISIBLE_DEVICES is '7'")) << describe(one).why;
}

TEST(GpuProblem, EveryFailureHasAProblemAndASuggestion) {
  for (const GpuFailure failure :
       {GpuFailure::not_compiled_in, GpuFailure::driver_too_old, GpuFailure::no_driver_library, GpuFailure::hidden,
        GpuFailure::not_ready, GpuFailure::driver_mismatch, GpuFailure::compat_refused, GpuFailure::library,
        GpuFailure::other}) {
    const GpuProblem problem = describe(findings(failure, "words"));
    EXPECT_FALSE(problem.problem.empty());
    EXPECT_EQ(problem.suggestion.back(), '.');
  }
}

TEST(NvidiaDriver, ItsVersionIsReadFromBothKindsOfModule) {
  EXPECT_EQ(driver_version_in(kVersionLine), "550.54.15");
  EXPECT_EQ(driver_version_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build"),
            "580.65.06");
  EXPECT_EQ(driver_version_in("NVRM version: none"), "");
}

TEST(NvidiaDriver, CountsTheGpusOfTheMachine) {
  setenv("MULTICARD_NVIDIA_PROC", "/nonexistent", 1);
  EXPECT_EQ(num_gpus_of_machine(), 0);
  const FakeDriverFolder folder(3);
  EXPECT_EQ(num_gpus_of_machine(), 3);
  fs::remove_all(folder.path() / "gpus");
  EXPECT_EQ(num_gpus_of_machine(), 1) << "the version alone says that there is one";
}

TEST(GpuProblem, OnAMachineWithGpusThatCannotBeUsedCudaNamesTheDriver) {
  if (!visible_gpus().empty()) GTEST_SKIP() << "there is a GPU";
  const FakeDriverFolder folder(4);
  const Topology topology = find_topology(test::world());

  try {
    choose_device(DeviceRequest::cuda, ShareGpu::no, test::world(), topology);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_TRUE(holds(error.what(), "run.device is cuda, but ")) << error.what();
    EXPECT_TRUE(holds(error.what(), "550.54.15")) << error.what();
  }
}

TEST(GpuProblem, OnAMachineWithGpusThatCannotBeUsedAutoWarns) {
  if (!visible_gpus().empty()) GTEST_SKIP() << "there is a GPU";
  const FakeDriverFolder folder(4);

  testing::internal::CaptureStderr();
  const DeviceChoice choice =
      choose_device(DeviceRequest::automatic, ShareGpu::no, test::world(), find_topology(test::world()));
  const std::string said = testing::internal::GetCapturedStderr();

  EXPECT_TRUE(choice.device.is_cpu());
  EXPECT_EQ(holds(said, "NO GPU IS USED"), test::world().is_root()) << said;
}

TEST(GpuProblem, GpusThatAreHiddenOnPurposeAreNoProblem) {
  if (!gpu_path_compiled_in() || !visible_gpus().empty()) GTEST_SKIP() << "there is a GPU, or no GPU path";
  const FakeDriverFolder folder(4);
  EXPECT_TRUE(gpu_problem());

  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_FALSE(gpu_problem());
  unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace multicard
