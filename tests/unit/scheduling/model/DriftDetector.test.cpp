#include "scheduling/model/DriftDetector.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "scheduling/model/Random.hpp"

namespace multicard {
namespace {

/// Steps of a predicted second that take `factor` seconds, with 2 % noise.
class Task {
 public:
  explicit Task(std::uint64_t seed) : random_(seed) {}

  /// The step, counted from 1, at which drift was found; 0 when there was none.
  int run(DriftDetector& detector, int num_steps, double factor) {
    for (int step = 1; step <= num_steps; ++step)
      if (detector.add(factor * std::exp(0.02 * random_.normal()), 1) != Drift::none) return step;
    return 0;
  }

 private:
  Random random_;
};

TEST(DriftDetector, IsQuietWhileNothingChanges) {
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    DriftDetector detector;
    alarms += Task(seed).run(detector, 2000, 1.0) > 0 ? 1 : 0;
  }

  EXPECT_LE(alarms, 1);
}

TEST(DriftDetector, FindsAChangeOfSeveralDeviationsWithinAFewSteps) {
  for (const double factor : {1.10, 0.90}) {
    DriftDetector detector;
    Task task(1);
    EXPECT_EQ(task.run(detector, 100, 1.0), 0);
    const int found = task.run(detector, 100, factor);
    EXPECT_GE(found, 2);
    EXPECT_LE(found, 8);
    EXPECT_EQ(detector.found(), Drift::sudden);
  }
}

TEST(DriftDetector, FindsAPersistentErrorOfThePrediction) {
  DriftDetector wrong;
  DriftDetector nearly_right;

  EXPECT_EQ(Task(1).run(wrong, 200, 1.15), 50);
  EXPECT_EQ(wrong.found(), Drift::persistent);
  EXPECT_EQ(Task(1).run(nearly_right, 200, 1.06), 0);
}

TEST(DriftDetector, IgnoresSingleOutliers) {
  DriftDetector detector;
  Task task(2);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(task.run(detector, 30, 1.0), 0);
    ASSERT_EQ(detector.add(4, 1), Drift::none);
  }
  EXPECT_EQ(detector.add(0, 1), Drift::none);
}

TEST(DriftDetector, StartsOverAfterAReset) {
  DriftDetector detector;
  Task task(3);
  task.run(detector, 50, 1.0);
  ASSERT_GT(task.run(detector, 50, 1.08), 0);
  EXPECT_EQ(detector.add(1, 1), Drift::sudden);  // stays

  detector.reset();

  EXPECT_EQ(detector.found(), Drift::none);
  EXPECT_EQ(task.run(detector, 200, 1.08), 0);  // the new normal
}

}  // namespace
}  // namespace multicard
