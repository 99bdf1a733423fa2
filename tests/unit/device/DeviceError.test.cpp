#include "device/DeviceError.hpp"

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

TEST(DeviceError, IsNoneForADefect) {
  EXPECT_FALSE(device_error(c10::Error({__func__, __FILE__, __LINE__}, "sizes differ"), ""));
}

}  // namespace
}  // namespace multicard
