#include "data/shards/PixelStatistics.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(PixelStatistics, ComesBackFromItsNumbers) {
  const PixelStatistics values{{0.1, 1.0 / 3, 0.5}, {0.2, 0.25, 2.0 / 7}};

  const auto again = pixel_statistics_from(numbers_of(values));

  ASSERT_TRUE(again);
  EXPECT_EQ(again->mean, values.mean);
  EXPECT_EQ(again->std, values.std);
  EXPECT_FALSE(pixel_statistics_from({{"loss_scale", 65536.0}}));
}

TEST(PixelStatistics, AChannelThatNeverChangesHasDeviation1) {
  EXPECT_EQ(
      numbers_of({{0.5, 0.25}, {0, 0.1}}),
      (std::map<std::string, double>{
          {"normalize.mean.0", 0.5}, {"normalize.mean.1", 0.25}, {"normalize.std.0", 1}, {"normalize.std.1", 0.1}}));
}

}  // namespace
}  // namespace multicard
