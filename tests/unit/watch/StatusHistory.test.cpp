#include "watch/StatusHistory.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(StatusHistory, HasAPointForEachStepOfAShortRun) {
  StatusHistory history;
  history.add(1, 4, 0.5, 10);
  history.add(2, kNone, 0.25, 10);

  const std::vector<WatchPoint> points = history.points();

  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].loss, 4);
  EXPECT_EQ(points[0].rate, 20);
  EXPECT_TRUE(std::isnan(points[1].loss));
  EXPECT_EQ(points[1].rate, 40);
}

TEST(StatusHistory, KeepsMeansOverTheWholeOfALongRunInFewPoints) {
  StatusHistory history;
  constexpr std::int64_t kSteps = 100'003;
  for (std::int64_t step = 1; step <= kSteps; ++step)
    history.add(step, static_cast<double>(step), 0.5, 10);

  const std::vector<WatchPoint> points = history.points();

  EXPECT_LE(points.size(), StatusHistory::kMost);
  EXPECT_GE(points.size(), StatusHistory::kMost / 2);
  EXPECT_EQ(points.back().step, kSteps);
  double total = 0;
  std::int64_t before = 0;
  for (const WatchPoint& point : points) {
    EXPECT_NEAR(point.loss, static_cast<double>(before + 1 + point.step) / 2, 1e-6);
    EXPECT_DOUBLE_EQ(point.rate, 20);
    total += point.loss * static_cast<double>(point.step - before);
    before = point.step;
  }
  EXPECT_NEAR(total, static_cast<double>(kSteps) * (kSteps + 1) / 2, 1);
}

}  // namespace
}  // namespace multicard
