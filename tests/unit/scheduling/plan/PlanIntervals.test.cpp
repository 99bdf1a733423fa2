#include "scheduling/plan/PlanIntervals.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace multicard {
namespace {

/// 10 units/s on 2 GPUs, 6 on 1, known to 10 % either way.
AllocationTask task(const std::string& name, double work) {
  return {name, RateTable({{1, 0, 6, 0, Interval{6 / 1.1, 6 * 1.1}}, {2, 0, 10, 0, Interval{10 / 1.1, 10 * 1.1}}}),
          work};
}

AllocationTask task_without_intervals(const std::string& name, double work) {
  return {name, RateTable({{1, 0, 6, 0}, {2, 0, 10, 0}}), work};
}

Allocation allocation_of(const AllocationProblem& problem, TaskSchedule schedule) {
  Allocation allocation;
  allocation.schedule = std::move(schedule);
  allocation.value = is_about_time(problem.objective) ? value_of(problem, allocation.schedule) : 0;
  return allocation;
}

constexpr double kSampling = 0.02;  ///< of a quantile of a thousand draws, relative

TEST(PlanIntervals, OneTaskEndsWithinItsRatesInterval) {
  const AllocationProblem problem{Objective::makespan, {1, 2}, {task("a", 1000)}};

  const PlanIntervals found = predict_intervals(problem, allocation_of(problem, {{0, 2, 1, 0, 100}}));

  ASSERT_TRUE(found.value);
  EXPECT_NEAR(found.value->low, 100 / 1.1, 100 * kSampling);
  EXPECT_NEAR(found.value->high, 100 * 1.1, 100 * kSampling);
  ASSERT_EQ(found.ends.size(), 1);
  EXPECT_EQ(found.ends[0]->low, found.value->low);
}

TEST(PlanIntervals, IndependentErrorsOfASequenceAddInSquares) {
  const AllocationProblem problem{Objective::makespan, {1, 2}, {task("a", 1000), task("b", 1000)}};

  const PlanIntervals found =
      predict_intervals(problem, allocation_of(problem, {{0, 2, 1, 0, 100}, {1, 2, 1, 100, 200}}));

  const double half = 100 * std::log(1.1) * std::sqrt(2);
  EXPECT_NEAR(found.value->low, 200 - half, 200 * kSampling);
  EXPECT_NEAR(found.value->high, 200 + half, 200 * kSampling);
}

TEST(PlanIntervals, ErrorsOfOneRateThatIsUsedTwiceDoNotCancel) {
  const AllocationProblem problem{Objective::makespan, {1, 2}, {task("a", 2000), task("b", 1000)}};

  const PlanIntervals found =
      predict_intervals(problem, allocation_of(problem, {{0, 2, 1, 0, 100}, {1, 2, 1, 100, 200}, {0, 2, 1, 200, 300}}));

  const double half = std::log(1.1) * std::hypot(200, 100);
  EXPECT_NEAR(found.value->high, 300 + half, 300 * kSampling);
}

TEST(PlanIntervals, TheLaterOfTwoConcurrentTasksCounts) {
  const AllocationProblem problem{Objective::makespan, {1, 2}, {task("a", 600), task("b", 600)}};

  const PlanIntervals found =
      predict_intervals(problem, allocation_of(problem, {{0, 1, 1, 0, 100}, {1, 1, 1, 0, 100}}));

  EXPECT_GT(found.value->low, 100 / 1.1 + 1);  // both would have to be fast
  EXPECT_GT(found.value->high, found.ends[0]->high - 100 * kSampling);
}

TEST(PlanIntervals, WhatFollowsAnUnknownRateIsUnknown) {
  const AllocationProblem problem{
      Objective::makespan, {1, 4}, {task_without_intervals("a", 600), task("b", 600), task("c", 600)}};

  const PlanIntervals found = predict_intervals(
      problem, allocation_of(problem, {{0, 1, 1, 0, 100}, {1, 2, 1, 0, 60}, {2, 1, 1, 0, 100}, {0, 2, 1, 100, 160}}));

  EXPECT_FALSE(found.value);
  EXPECT_FALSE(found.ends[0]);
  EXPECT_TRUE(found.ends[1]);
  EXPECT_TRUE(found.ends[2]);
  EXPECT_FALSE(found.ends[3]);
}

TEST(PlanIntervals, OnlyWhatWaitsForGpusWaits) {
  const AllocationProblem problem{
      Objective::makespan, {1, 2}, {task_without_intervals("a", 600), task("b", 60), task("c", 600)}};

  const PlanIntervals found =
      predict_intervals(problem, allocation_of(problem, {{0, 1, 1, 0, 100}, {1, 1, 1, 0, 10}, {2, 1, 1, 10, 110}}));

  ASSERT_TRUE(found.ends[2]);  // on the GPU of b, not on that of a
  EXPECT_NEAR(found.ends[2]->high, 110 + std::log(1.1) * std::hypot(10, 100), 110 * kSampling);
}

TEST(PlanIntervals, WhatBeginsOnIdleGpusDoesNotBeginBeforeItsTime) {
  const AllocationProblem problem{Objective::makespan, {1, 3}, {task("a", 1000), task("b", 1000), task("c", 60)}};

  const PlanIntervals found =
      predict_intervals(problem, allocation_of(problem, {{0, 2, 1, 0, 100}, {1, 2, 1, 100, 200}, {2, 1, 1, 200, 210}}));

  ASSERT_TRUE(found.ends[2]);
  EXPECT_GT(found.ends[2]->low, 180);
  EXPECT_NEAR(found.ends[2]->high, 210 + 100 * std::log(1.1) * std::sqrt(2), 210 * kSampling);
}

TEST(PlanIntervals, FairnessIsUnknownWhereABestRateIsAndNothingWithoutATask) {
  const double never = std::numeric_limits<double>::infinity();
  AllocationTask half_known = task("a", 0);
  half_known.table = RateTable({{1, 0, 6, 0, Interval{5, 7}}, {2, 0, 20, 0}});
  const AllocationProblem problem{Objective::fairness, {1, 2}, {half_known, task("b", 0)}};
  const AllocationProblem crowded{Objective::fairness, {1, 1}, {task("a", 0), task("b", 0)}};

  EXPECT_FALSE(predict_intervals(problem, allocation_of(problem, {{0, 1, 1, 0, never}, {1, 1, 1, 0, never}})).value);
  EXPECT_EQ(predict_intervals(crowded, allocation_of(crowded, {{0, 1, 1, 0, never}})).value->high, 0);
}

TEST(PlanIntervals, RatesOfASplitAddUpOrTheWorstCounts) {
  AllocationProblem problem{Objective::weighted_throughput, {1, 2}, {task("a", 0), task("b", 0)}};
  const double never = std::numeric_limits<double>::infinity();
  const Allocation both = allocation_of(problem, {{0, 1, 1, 0, never}, {1, 1, 1, 0, never}});

  const PlanIntervals sum = predict_intervals(problem, both);
  problem.objective = Objective::fairness;
  const PlanIntervals least = predict_intervals(problem, both);

  EXPECT_NEAR(sum.value->high, 12 + 6 * std::log(1.1) * std::sqrt(2), 12 * kSampling);
  EXPECT_FALSE(sum.ends[0]);
  EXPECT_LT(least.value->high, 0.6 * 1.21);
  EXPECT_GT(least.value->high, 0.6);
  EXPECT_LT(least.value->low, 0.6 / 1.1);
}

}  // namespace
}  // namespace multicard
