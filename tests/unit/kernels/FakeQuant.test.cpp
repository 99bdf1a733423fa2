// Fake quantisation against torchao (tests/data/oracles/qat/README.md), and its kernels against plain operations.

#include "kernels/FakeQuant.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "kernels/FakeQuantAten.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

constexpr std::int64_t kGroup = 32;

class FakeQuantOracle : public testing::TestWithParam<const char*> {
 protected:
  at::Tensor tensor(const std::string& what) {
    const at::Tensor values = file_.load(std::string(GetParam()) + "." + what);
    return values.view({-1, values.size(values.dim() - 1)});
  }

  TensorFile file_{test::source_path("tests/data/oracles/qat/tensors.safetensors").string()};
};

/// Equal within a unit in the last place.
void expect_same(const at::Tensor& found, const at::Tensor& expected) {
  EXPECT_TRUE(at::allclose(found, expected, 1.2e-7, 1e-37)) << (found - expected).abs().max();
}

using Weights = FakeQuantOracle;

TEST_P(Weights, AreTorchaosBothWays) {
  const at::Tensor weight = tensor("input"), gradient = tensor("upstream_grad").clone();

  const at::Tensor found = fake_int4(weight, kGroup, at::kFloat);
  fake_int4_gradient(weight, kGroup, gradient);

  EXPECT_TRUE(at::equal(found, tensor("output")));
  expect_same(gradient, tensor("input_grad"));
  EXPECT_EQ(gradient.eq(0).sum().item<std::int64_t>(), tensor("input_grad").eq(0).sum().item<std::int64_t>());
}

INSTANTIATE_TEST_SUITE_P(FakeQuant, Weights,
                         testing::Values("w_normal_16x128", "w_outlier_8x64", "w_zero_group_4x128", "w_ties_4x64",
                                         "w_base_k_proj"));

using Activations = FakeQuantOracle;

TEST_P(Activations, AreTorchaosBothWays) {
  const at::Tensor x = tensor("input"), gradient = tensor("upstream_grad").clone();

  const at::Tensor found = fake_int8(x);
  fake_int8_gradient(x, gradient);

  EXPECT_TRUE(at::equal(found, tensor("output")));
  expect_same(gradient, tensor("input_grad"));
}

INSTANTIATE_TEST_SUITE_P(FakeQuant, Activations,
                         testing::Values("act_normal_2x5x128", "act_positive_3x64", "act_negative_3x64",
                                         "act_outlier_4x64", "act_zero_row_2x64", "act_tiny_2x64"));

/// Of the signs, sizes and shapes that kernels treat apart.
std::vector<at::Tensor> matrices(at::ScalarType dtype, std::int64_t columns) {
  const at::Tensor values = at::randn({7, columns}, at::kDouble);
  at::Tensor with_zeros = values.clone();
  with_zeros[3].zero_();
  return {values.to(dtype),           with_zeros.to(dtype),  values.abs().to(dtype), values.abs().neg().to(dtype),
          values.mul(1e-4).to(dtype), values.exp().to(dtype)};
}

const std::vector<at::ScalarType> kTypes{at::kFloat, at::kDouble, at::kBFloat16, at::kHalf};
const std::vector<std::int64_t> kSizes{1, 8, 24, 31, 32, 256, 264};

TEST(FakeQuant, KernelsOfWeightsHaveTheBitsOfPlainOperations) {
  for (const at::ScalarType dtype : kTypes)
    for (const std::int64_t size : kSizes)
      for (const at::Tensor& weight : matrices(dtype, 3 * size)) {
        const at::Tensor dy = at::randn_like(weight), ours = dy.clone(), theirs = dy.clone();

        fake_int4_gradient(weight, size, ours);
        aten_fake_int4_gradient(weight, size, theirs);

        EXPECT_TRUE(at::equal(fake_int4(weight, size, dtype), aten_fake_int4(weight, size))) << dtype << size;
        EXPECT_TRUE(at::equal(ours, theirs)) << dtype << " in groups of " << size;
      }
}

TEST(FakeQuant, KernelsOfActivationsHaveTheBitsOfPlainOperations) {
  for (const at::ScalarType dtype : kTypes)
    for (const std::int64_t size : kSizes)
      for (const at::Tensor& x : matrices(dtype, size)) {
        const at::Tensor dy = at::randn_like(x), ours = dy.clone(), theirs = dy.clone();

        fake_int8_gradient(x, ours);
        aten_fake_int8_gradient(x, theirs);

        EXPECT_TRUE(at::equal(fake_int8(x), aten_fake_int8(x))) << dtype << " of " << size;
        EXPECT_TRUE(at::equal(ours, theirs)) << dtype << " of " << size;
      }
}

TEST(FakeQuant, WiderValuesAreThoseThatAreRounded) {
  const at::Tensor weight = at::randn({5, 64}).to(at::kBFloat16);

  const at::Tensor wide = fake_int4(weight, kGroup, at::kFloat);

  EXPECT_TRUE(at::equal(wide, fake_int4(weight.to(at::kFloat), kGroup, at::kFloat)));
  EXPECT_TRUE(at::equal(fake_int4(weight, kGroup, at::kBFloat16), wide.to(at::kBFloat16)));
  EXPECT_TRUE(at::equal(fake_int4(weight.to(at::kFloat), kGroup, at::kHalf), wide.to(at::kHalf)));
}

TEST(FakeQuant, LargestPositiveWeightsAreClampedAndNotTrained) {
  at::Tensor weight = at::full({1, kGroup}, 0.5), gradient = at::full({1, kGroup}, 3.0);
  weight[0][5] = 15;  // scale 2: 7.5 rounds to 8
  weight[0][6] = -15;

  const at::Tensor found = fake_int4(weight, kGroup, at::kFloat);
  fake_int4_gradient(weight, kGroup, gradient);

  EXPECT_EQ(found[0][5].item<float>(), 14);
  EXPECT_EQ(found[0][6].item<float>(), -16);
  EXPECT_EQ(gradient[0][5].item<float>(), 0);
  EXPECT_EQ(gradient[0][6].item<float>(), 3);
  EXPECT_EQ(gradient[0][7].item<float>(), 3);
}

TEST(FakeQuant, ManyRowsAreComputedInParallelAsOne) {
  const at::Tensor x = at::randn({600, 200}), weight = at::randn({300, 512});

  const at::Tensor tokens = fake_int8(x), values = fake_int4(weight, kGroup, at::kFloat);

  EXPECT_TRUE(at::equal(tokens.narrow(0, 411, 1), fake_int8(x.narrow(0, 411, 1))));
  EXPECT_TRUE(at::equal(values.narrow(0, 211, 1), fake_int4(weight.narrow(0, 211, 1), kGroup, at::kFloat)));
  EXPECT_TRUE(at::equal(tokens, aten_fake_int8(x)));
  EXPECT_TRUE(at::equal(values, aten_fake_int4(weight, kGroup)));
}

}  // namespace
}  // namespace multicard
