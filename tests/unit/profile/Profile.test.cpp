#include "profile/Profile.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(Distribution, InterpolatesBetweenNeighbours) {
  const Distribution found = distribution_of({40, 10, 30, 20});
  EXPECT_EQ(found.count, 4);
  EXPECT_EQ(found.total, 100);
  EXPECT_EQ(found.min, 10);
  EXPECT_EQ(found.max, 40);
  EXPECT_DOUBLE_EQ(found.mean, 25);
  EXPECT_DOUBLE_EQ(found.median.value(), 25);
  EXPECT_DOUBLE_EQ(found.p95, 38.5);
}

TEST(Distribution, OfOneValueIsThatValue) {
  const Distribution found = distribution_of({-7});
  EXPECT_EQ(found.min, -7);
  EXPECT_DOUBLE_EQ(found.median.value(), -7);
  EXPECT_DOUBLE_EQ(found.p95, -7);
  EXPECT_EQ(distribution_of({}).count, 0);
}

TEST(Distribution, ATotalThatDoesNotFitIsTheLargestNumber) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(distribution_of({kMost, 1, 2}).total, kMost);
  EXPECT_EQ(distribution_of({-kMost, -kMost}).total, std::numeric_limits<std::int64_t>::min());
}

TEST(CopyRow, HasNoBandwidthWhereASizeIsMissing) {
  CopyRow row{"HtoD", distribution_of({100, 300}), 800, 0};
  EXPECT_DOUBLE_EQ(row.bandwidth().value(), 2);
  row.without_bytes = 1;
  EXPECT_FALSE(row.bandwidth());
  EXPECT_FALSE((CopyRow{"HtoD", {}, 0, 0}.bandwidth()));
}

}  // namespace
}  // namespace multicard
