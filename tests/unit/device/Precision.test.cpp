#include "device/Precision.hpp"

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

at::ScalarType type_of_a_product() {
  return at::matmul(at::ones({4, 4}), at::ones({4, 4})).scalar_type();
}

TEST(Precision, HasMastersOfAtLeastFloat32) {
  EXPECT_EQ(master_type(Precision::fp64), at::kDouble);
  EXPECT_EQ(master_type(Precision::fp16), at::kFloat);
}

TEST(Precision, CastsProductsWhileAutocastLives) {
  {
    const Autocast outer(Precision::bf16, at::kCPU);
    EXPECT_EQ(type_of_a_product(), at::kBFloat16);
    {
      const Autocast inner(Precision::bf16, at::kCPU);
      EXPECT_EQ(type_of_a_product(), at::kBFloat16);
    }
    EXPECT_EQ(type_of_a_product(), at::kBFloat16);
  }
  EXPECT_EQ(type_of_a_product(), at::kFloat);
  const Autocast none(Precision::fp32, at::kCPU);
  EXPECT_EQ(type_of_a_product(), at::kFloat);
}

TEST(Precision, RefusesWhatADeviceCannotDo) {
  GpuInfo volta;
  volta.name = "NVIDIA V100";
  volta.compute_major = 7;
  GpuInfo hopper = volta;
  hopper.compute_major = 9;
  const at::Device gpu(at::kCUDA, 0);

  EXPECT_THROW(check_precision(Precision::tf32, at::kCPU, std::nullopt), EnvironmentError);
  EXPECT_THROW(check_precision(Precision::tf32, gpu, volta), EnvironmentError);
  EXPECT_THROW(check_precision(Precision::bf16, gpu, volta), EnvironmentError);
  for (const Precision precision : {Precision::fp64, Precision::fp32, Precision::fp16})
    EXPECT_NO_THROW(check_precision(precision, gpu, volta));
  EXPECT_NO_THROW(check_precision(Precision::tf32, gpu, hopper));
  EXPECT_NO_THROW(check_precision(Precision::bf16, gpu, hopper));
  EXPECT_NO_THROW(check_precision(Precision::fp64, at::kCPU, std::nullopt));
  EXPECT_NO_THROW(check_precision(Precision::bf16, at::kCPU, std::nullopt));
}

}  // namespace
}  // namespace multicard
