#include "nn/BaseWeight.hpp"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

/// Layers of `outs` rows, and their dequantised values below each other.
std::pair<Nf4Weight, at::Tensor> filled(std::int64_t in, const std::vector<std::int64_t>& outs) {
  Nf4Weight weight(in, outs, DoubleQuantisation::on, at::kCPU);
  std::vector<at::Tensor> values;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    const at::Tensor layer = at::randn({outs[i], in}) / std::sqrt(static_cast<double>(in));
    weight.fill(i, layer);
    values.push_back(dequantise_nf4(quantise_nf4(layer, DoubleQuantisation::on), at::kFloat));
  }
  return {weight, at::cat(values)};
}

void expect_products(const Nf4Weight& weight, const at::Tensor& values, double tolerance) {
  const at::Tensor x = at::randn({5, values.size(1)}), dy = at::randn({5, values.size(0)});
  const auto far = [](const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); };

  EXPECT_LT(far(weight.product(x), x.matmul(values.t())), tolerance);
  EXPECT_LT(far(weight.transposed_product(dy), dy.matmul(values)), tolerance);
}

TEST(BaseWeight, QuantisedLayersComputeWithTheirDequantisedValues) {
  const auto [weight, values] = filled(96, {40, 24});

  expect_products(weight, values, 1e-5);
}

TEST(BaseWeight, LargeWeightsAreComputedInParts) {
  const auto [weight, values] = filled(2080, {3000, 1600, 11});  // 38 MB, rows that end inside a block

  expect_products(weight, values, 1e-4);
}

TEST(BaseWeight, ProductsHaveTheTypeOfTheirOperand) {
  const auto [weight, values] = filled(64, {64});
  const at::Tensor x = at::randn({3, 64}, at::kDouble);

  EXPECT_LT((weight.product(x) - x.matmul(values.to(at::kDouble).t())).abs().max().item<double>(), 1e-12);
  EXPECT_EQ(weight.product(x.to(at::kBFloat16)).scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace multicard
