#include "device/DeviceError.hpp"

#include <string>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(DeviceError, BelongsToTheEnvironmentWhenTheDeviceReportsIt) {
  const c10::AcceleratorError reported({__func__, __FILE__, __LINE__}, 700,
                                       "CUDA error: an illegal memory access was encountered\nSearch for it in ...");

  const auto error = device_error(reported, " in step 3");

  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ExitCode::environment);
  EXPECT_EQ(error->problem(), "the device failed in step 3");
  EXPECT_EQ(error->why(), "an illegal memory access was encountered");
}

TEST(DeviceError, ReportsMemoryWhicheverAllocatorRanOutOfIt) {
  const c10::SourceLocation here{__func__, __FILE__, __LINE__};
  const c10::AcceleratorError driver(here, 2, "CUDA error: out of memory");
  const c10::Error blas(here, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`");
  const c10::Error dnn(here, "FIND was unable to find an engine to execute this computation");
  for (const c10::Error* error : {static_cast<const c10::Error*>(&driver), &blas, &dnn}) {
    const auto told = device_error(*error, " in step 3", "predicted 7 GB");
    ASSERT_TRUE(told) << error->what();
    EXPECT_EQ(told->problem(), "the device is out of memory in step 3");
    EXPECT_NE(told->why().find("predicted 7 GB"), std::string::npos);
  }
}

TEST(DeviceError, SmallerStepsDoNotHelpWhereTheWeightsDoNotFit) {
  const c10::AcceleratorError driver({__func__, __FILE__, __LINE__}, 2, "CUDA error: out of memory");
  const Error of_setup = any_error(driver, MemoryUse::setup), of_step = any_error(driver);
  EXPECT_EQ(of_setup.problem(), "the device is out of memory while the run was set up");
  EXPECT_EQ(std::string(of_setup.what()).find("run.micro_batch"), std::string::npos) << of_setup.what();
  EXPECT_NE(std::string(of_step.what()).find("run.micro_batch"), std::string::npos) << of_step.what();
}

TEST(DeviceError, KnowsMemoryOfTheHost) {
  const c10::Error host({__func__, __FILE__, __LINE__}, "DefaultCPUAllocator: can't allocate memory: you tried to");
  const Error of_setup = any_error(host, MemoryUse::setup), of_step = any_error(host);
  EXPECT_EQ(of_setup.code(), ExitCode::environment);
  EXPECT_EQ(of_setup.problem(), "out of memory while the run was set up");
  EXPECT_NE(of_setup.suggestion().find("optimizer state alone do not fit"), std::string::npos) << of_setup.what();
  EXPECT_EQ(of_step.problem(), "out of memory");
  EXPECT_EQ(any_error(std::runtime_error("could not create a primitive")).problem(), "out of memory");
}

TEST(DeviceError, IsNoneForADefect) {
  EXPECT_FALSE(device_error(c10::Error({__func__, __FILE__, __LINE__}, "sizes differ"), ""));
}

}  // namespace
}  // namespace multicard
