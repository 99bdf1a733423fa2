#include "nn/layers/Random.hpp"

#include <cmath>
#include <set>

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
  EXPECT_NEAR((values.abs() < 0.5).to(at::kDouble).mean().item<double>(), 0.6827, 0.01);
  EXPECT_LT((values.narrow(0, 0, 39999) * values.narrow(0, 1, 39999)).mean().abs().item<double>(), 0.005);
  EXPECT_TRUE(at::equal(values, normal_values({40000}, 0.5, 1, 0)));
  EXPECT_TRUE(at::equal(values.narrow(0, 0, 333), normal_values({333}, 0.5, 1, 0)));
  EXPECT_LT((values * normal_values({40000}, 0.5, 1, 1)).mean().abs().item<double>(), 0.005);
  EXPECT_LT((values * normal_values({40000}, 0.5, 2, 0)).mean().abs().item<double>(), 0.005);
}

TEST(UniformValues, FillTheirRangeAndDependOnSeedAndStream) {
  const at::Tensor values = uniform_values({40000}, 0.5, 1, 0);

  EXPECT_NEAR(values.mean().item<double>(), 0.0, 0.01);
  EXPECT_NEAR(values.std().item<double>(), 0.5 / std::sqrt(3.0), 0.005);
  EXPECT_LE(values.abs().max().item<double>(), 0.5);
  EXPECT_GT(values.abs().max().item<double>(), 0.499);
  EXPECT_TRUE(at::equal(values, uniform_values({40000}, 0.5, 1, 0)));
  EXPECT_LT((values * uniform_values({40000}, 0.5, 1, 1)).mean().abs().item<double>(), 0.002);
  EXPECT_LT((values * uniform_values({40000}, 0.5, 2, 0)).mean().abs().item<double>(), 0.002);
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

// Recorded values go through LibTorch's operations, others through a kernel.
TEST(Dropout, IsTheSameWithAndWithoutGradients) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    for (const std::int64_t columns : {1, 64, 20011}) {
      const at::Tensor whole = at::randn({5, columns + 1}).to(type), x = whole.narrow(1, 1, columns);
      const at::Tensor recorded = x.detach().requires_grad_(true);
      EXPECT_TRUE(at::equal(seeded_dropout(x, 0.3, 9), seeded_dropout(recorded, 0.3, 9).detach())) << type << columns;
    }
}

TEST(RowDropout, KeepsOrZeroesWholeRows) {
  const at::Tensor x = at::ones({5000, 2, 3, 2});

  const at::Tensor y = seeded_row_dropout(x, 0.2, 7);

  const at::Tensor rows = y.flatten(1).mean(1);
  EXPECT_NEAR((rows == 0).to(at::kDouble).mean().item<double>(), 0.2, 0.02);
  EXPECT_TRUE(at::equal(y, rows.view({-1, 1, 1, 1}).expand_as(y)));
  EXPECT_FLOAT_EQ(rows.max().item<float>(), 1.25F);
  EXPECT_FALSE(at::equal(y, seeded_row_dropout(x, 0.2, 8)));
}

TEST(SeedOfStream, SeparatesStreamsOfNeighbouringSeeds) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    for (std::uint64_t stream = 0; stream < 50; ++stream)
      seeds.insert(seed_of_stream(seed, stream));

  EXPECT_EQ(seeds.size(), 2500U);
}

}  // namespace
}  // namespace multicard
