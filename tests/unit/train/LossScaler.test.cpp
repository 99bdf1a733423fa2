#include "train/LossScaler.hpp"

#include <limits>

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

const at::Tensor kFound = at::ones({}), kFine = at::zeros({});

TEST(LossScaler, ScalesTheLossAndUnscalesTheGradients) {
  const LossScaler scaler(at::kCPU);
  const std::vector<at::Tensor> gradients{at::full({3}, 65536.0), at::full({2, 2}, -32768.0)};

  const at::Tensor found_inf = scaler.unscale(gradients);

  EXPECT_EQ(scaler.scale(at::ones({})).item<double>(), 65536.0);
  EXPECT_EQ(found_inf.item<float>(), 0.0f);
  EXPECT_EQ(gradients[0][2].item<float>(), 1.0f);
  EXPECT_EQ(gradients[1][1][0].item<float>(), -0.5f);
}

TEST(LossScaler, FindsWhatIsNotFinite) {
  const LossScaler scaler(at::kCPU);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const std::vector<at::Tensor> gradients{at::ones({3}), at::ones({3})};
    gradients[1][1].fill_(bad);
    EXPECT_EQ(scaler.unscale(gradients).item<float>(), 1.0f) << bad;
  }
}

TEST(LossScaler, HalvesAtOnceAndDoublesAfterManyUpdates) {
  LossScaler scaler(at::kCPU);

  scaler.update(kFound);
  EXPECT_EQ(scaler.value(), LossScaler::kStart / 2);
  for (std::int64_t i = 0; i < LossScaler::kGrowthInterval - 1; ++i)
    scaler.update(kFine);
  EXPECT_EQ(scaler.value(), LossScaler::kStart / 2);
  scaler.update(kFine);
  EXPECT_EQ(scaler.value(), LossScaler::kStart);
  EXPECT_EQ(scaler.updates_since_change(), 0);
}

TEST(LossScaler, GoesOnWhereItWas) {
  LossScaler scaler(at::kCPU), other(at::kCPU);
  scaler.update(kFound);
  for (int i = 0; i < 5; ++i)
    scaler.update(kFine);

  other.restore(scaler.value(), scaler.updates_since_change());

  EXPECT_EQ(other.value(), scaler.value());
  EXPECT_EQ(other.updates_since_change(), 5);
}

}  // namespace
}  // namespace multicard
