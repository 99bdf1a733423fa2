#include "nn/Random.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(NormalValues, HaveTheAskedDeviationAndDependOnSeedAndStream) {
  const at::Tensor values = normal_values({40000}, 0.5, 1, 0);

  EXPECT_NEAR(values.mean().item<double>(), 0.0, 0.01);
  EXPECT_NEAR(values.std().item<double>(), 0.5, 0.01);
  EXPECT_TRUE(at::equal(values, normal_values({40000}, 0.5, 1, 0)));
  EXPECT_LT((values * normal_values({40000}, 0.5, 1, 1)).mean().abs().item<double>(), 0.005);
  EXPECT_LT((values * normal_values({40000}, 0.5, 2, 0)).mean().abs().item<double>(), 0.005);
}

TEST(Dropout, KeepsTheMeanAndTheAskedShare) {
  const at::Tensor x = at::ones({200, 200});

  const at::Tensor y = seeded_dropout(x, 0.2, 7);

  EXPECT_NEAR((y == 0).to(at::kDouble).mean().item<double>(), 0.2, 0.01);
  EXPECT_NEAR(y.mean().item<double>(), 1.0, 0.01);
  EXPECT_FLOAT_EQ(y.max().item<float>(), 1.25F);
}

TEST(Dropout, DependsOnSeedAndElementAlone) {
  const at::Tensor x = at::ones({64, 10});

  EXPECT_TRUE(at::equal(seeded_dropout(x, 0.5, 3), seeded_dropout(x, 0.5, 3)));
  EXPECT_FALSE(at::equal(seeded_dropout(x, 0.5, 3), seeded_dropout(x, 0.5, 4)));
  EXPECT_TRUE(at::equal(seeded_dropout(x, 0.5, 3).narrow(0, 0, 8), seeded_dropout(x.narrow(0, 0, 8), 0.5, 3)));
  EXPECT_TRUE(at::equal(seeded_dropout(x, 0.5, 3), seeded_dropout(x.to(at::kDouble), 0.5, 3).to(at::kFloat)));
}

}  // namespace
}  // namespace multicard
