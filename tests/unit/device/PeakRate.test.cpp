#include "device/PeakRate.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(PeakRate, IsThatOfTheDataSheet) {
  EXPECT_EQ(peak_flops_per_s("NVIDIA H100 80GB HBM3", Precision::bf16), 989e12);
  EXPECT_EQ(peak_flops_per_s("NVIDIA H100 PCIe", Precision::fp16), 756e12);
  EXPECT_EQ(peak_flops_per_s("cuda:0 NVIDIA H200 at 0000:18:00.0", Precision::bf16), 989e12);
  EXPECT_EQ(peak_flops_per_s("NVIDIA A100-SXM4-80GB", Precision::tf32), 156e12);
  EXPECT_EQ(peak_flops_per_s("NVIDIA A100-SXM4-80GB", Precision::fp64), 19.5e12);
}

TEST(PeakRate, IsUnknownWhereItIsNotPublished) {
  EXPECT_EQ(peak_flops_per_s("cpu (Intel(R) Xeon(R) Processor, 1 thread)", Precision::fp32), std::nullopt);
  EXPECT_EQ(peak_flops_per_s("NVIDIA L4", Precision::fp64), std::nullopt);
  EXPECT_EQ(peak_flops_per_s("some GPU", Precision::bf16), std::nullopt);
}

}  // namespace
}  // namespace multicard
