#include "base/Quantiles.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(Quantiles, MedianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({7}), 7);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Quantiles, PercentilesAreLinearBetweenNeighbours) {
  // Positions 0.25 * 4 = 1 and 0.9 * 4 = 3.6: the second value, and 40 + 0.6 * (50 - 40).
  EXPECT_DOUBLE_EQ(percentile({50, 10, 40, 20, 30}, 0.25), 20);
  EXPECT_DOUBLE_EQ(percentile({50, 10, 40, 20, 30}, 0.9), 46);
  EXPECT_DOUBLE_EQ(percentile({5, 6}, 0), 5);
  EXPECT_DOUBLE_EQ(percentile({5, 6}, 1), 6);
}

}  // namespace
}  // namespace multicard
