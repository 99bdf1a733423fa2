#include "train/ExponentialMovingAverage.hpp"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

class ExponentialMovingAverageTest : public testing::Test {
 protected:
  at::Tensor weight_ = at::full({2, 3}, 1.0, at::kDouble);
  at::Tensor counter_ = at::full({}, 7, at::kLong);
  ExponentialMovingAverage average_{{{"weight", weight_}, {"counter", counter_}}, 0.75};

  void set(double value, std::int64_t count) {
    weight_.detach().fill_(value);
    counter_.fill_(count);
  }
  double averaged() const { return average_.state()[0].tensor[1][2].item<double>(); }
};

TEST_F(ExponentialMovingAverageTest, StartsAsTheModelIsAndFollowsIt) {
  EXPECT_EQ(averaged(), 1.0);
  set(5.0, 8);
  average_.update();
  EXPECT_EQ(averaged(), 0.75 * 1 + 0.25 * 5);
  set(9.0, 9);
  average_.update();
  EXPECT_EQ(averaged(), 0.75 * 2 + 0.25 * 9);
  EXPECT_EQ(average_.state()[1].tensor.item<std::int64_t>(), 9);
}

TEST_F(ExponentialMovingAverageTest, IsInTheModelWhileApplied) {
  set(5.0, 8);
  average_.update();
  set(100.0, 50);
  {
    const ExponentialMovingAverage::Applied applied(average_);
    EXPECT_EQ(weight_[0][0].item<double>(), 2.0);
    EXPECT_EQ(counter_.item<std::int64_t>(), 8);
  }
  EXPECT_EQ(weight_[0][0].item<double>(), 100.0);
  EXPECT_EQ(counter_.item<std::int64_t>(), 50);
}

}  // namespace
}  // namespace multicard
