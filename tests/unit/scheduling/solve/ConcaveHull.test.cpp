#include "scheduling/solve/ConcaveHull.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

ConcaveHull curve(const std::vector<Utility>& utilities) {
  ConcaveHull curve(0);
  for (const Utility& utility : utilities)
    curve.add(utility);
  return curve;
}

TEST(ConcaveHull, KeepsTheUpperHull) {
  const std::vector<Utility> hull = curve({{1, 4}, {2, 5}, {3, 5}, {4, 11}, {8, 12}, {9, 11}}).corners();

  ASSERT_EQ(hull.size(), 4U);  // slopes 4, 7/3, 1/4
  EXPECT_EQ(hull[1].gpus, 1);
  EXPECT_EQ(hull[2].gpus, 4);
  EXPECT_EQ(hull[3].gpus, 8);
}

TEST(DivideGpus, TakesTheSteepestStepsThatFit) {
  const std::vector<ConcaveHull> curves{curve({{1, 4}, {4, 11}}), curve({{1, 3}, {2, 6}}), curve({{3, 7.5}})};

  EXPECT_EQ(divide_gpus(curves, 1), (std::vector<int>{1, 0, 0}));
  EXPECT_EQ(divide_gpus(curves, 4), (std::vector<int>{1, 2, 0}));  // 4 + 6; the three of the last do not fit
  EXPECT_EQ(divide_gpus(curves, 6), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(divide_gpus(curves, 100), (std::vector<int>{4, 2, 3}));
}

TEST(DivideGpus, PrefersTheFirstOfEqualJobs) {
  EXPECT_EQ(divide_gpus({curve({{1, 1}}), curve({{1, 1}})}, 1), (std::vector<int>{1, 0}));
}

}  // namespace
}  // namespace multicard
