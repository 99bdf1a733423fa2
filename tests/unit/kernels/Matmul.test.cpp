#include "kernels/Matmul.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).to(at::kDouble).norm().item<double>() / b.to(at::kDouble).norm().item<double>();
}

TEST(Matmul, IsTheSameByBothLibraries) {
  const at::Tensor x = at::randn({70, 48}), weight = at::randn({96, 48}), dy = at::randn({70, 96});
  for (const GemmLibrary library : {GemmLibrary::blas, GemmLibrary::onednn}) {
    EXPECT_LT(distance(fast_matmul(x, weight.t(), library), at::mm(x.to(at::kDouble), weight.t().to(at::kDouble))),
              1e-6);
    EXPECT_LT(distance(fast_matmul(dy, weight, library), at::mm(dy.to(at::kDouble), weight.to(at::kDouble))), 1e-6);
    EXPECT_LT(distance(fast_matmul(dy.t(), x, library), at::mm(dy.t().to(at::kDouble), x.to(at::kDouble))), 1e-6);
    const at::Tensor part = dy.narrow(1, 16, 48);
    EXPECT_LT(
        distance(fast_matmul(part, weight.t(), library), at::mm(part.to(at::kDouble), weight.t().to(at::kDouble))),
        1e-6);
  }
}

TEST(Matmul, KeepsTheTypeOfItsFactors) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    const at::Tensor x = at::randn({6, 8}).to(dtype);
    EXPECT_EQ(fast_matmul(x, x.t()).scalar_type(), dtype);
    const at::ScalarType chosen = matmul_dtype(dtype, at::kCPU);
    EXPECT_TRUE(chosen == dtype || chosen == at::kFloat);
    EXPECT_EQ(matmul_dtype(dtype, at::Device(at::kCUDA, 0)), dtype);
  }
}

}  // namespace
}  // namespace multicard
