#include "scheduling/solve/NextMeasurement.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

MeasurementAdvice advice_on(const AllocationProblem& problem, ScheduleKind kind = ScheduleKind::static_split) {
  SearchBudget budget;
  return next_measurement(problem, kind, allocate(problem, kind).value(), budget);
}

TEST(NextMeasurement, NamesTheGapThatMattersMost) {
  // a could be much faster between 1 and 8 GPUs; b is measured everywhere.
  const RateTable a({{1, 0, 1.0, 0}, {8, 0, 8.0, 0}}),
      b({{1, 0, 1.0, 0}, {2, 0, 2.0, 0}, {3, 0, 3.0, 0}, {4, 0, 4.0, 0}});
  const AllocationProblem problem{Objective::makespan, {1, 8}, {{"a", a, 40, 1}, {"b", b, 40, 1}}};

  const MeasurementAdvice advice = advice_on(problem);

  const std::optional<NextMeasurement>& next = advice.next;
  ASSERT_TRUE(next);
  EXPECT_EQ(advice.reason, "");
  EXPECT_EQ(next->task, 0U);
  EXPECT_EQ(next->gpus, 4);
  EXPECT_DOUBLE_EQ(next->value, 10);
}

TEST(NextMeasurement, IsNoneWhereNothingIsMissing) {
  const RateTable full({{1, 0, 1.0, 0}, {2, 0, 1.9, 0}, {3, 0, 2.7, 0}, {4, 0, 3.4, 0}});
  const AllocationProblem problem{Objective::makespan, {1, 4}, {{"a", full, 40, 1}, {"b", full, 40, 1}}};

  const MeasurementAdvice advice = advice_on(problem);
  EXPECT_FALSE(advice.next);
  EXPECT_EQ(advice.reason, "no missing number of GPUs could improve the plan");
}

TEST(NextMeasurement, IsComparedWithThePlanAndNotOnlyWithTheBestSplit) {
  // No split beats one after another, at the best rate of both; the best split would gain from 6 GPUs for a.
  const RateTable a({{1, 0, 1.0, 0}, {4, 0, 4.0, 0}, {8, 0, 8.0, 0}}), b({{1, 0, 1.0, 0},
                                                                          {2, 0, 2.0, 0},
                                                                          {3, 0, 3.0, 0},
                                                                          {4, 0, 4.0, 0},
                                                                          {5, 0, 5.0, 0},
                                                                          {6, 0, 6.0, 0},
                                                                          {7, 0, 7.0, 0},
                                                                          {8, 0, 8.0, 0}});
  const AllocationProblem problem{Objective::makespan, {1, 8}, {{"a", a, 60, 1}, {"b", b, 20, 1}}};

  const MeasurementAdvice of_splits = advice_on(problem);
  ASSERT_TRUE(of_splits.next);
  EXPECT_EQ(of_splits.next->gpus, 6);
  EXPECT_FALSE(advice_on(problem, ScheduleKind::any).next);
}

TEST(NextMeasurement, FillsTablesOfNodesOnAsFewNodesAsHoldTheGpus) {
  const RateTable a({{1, 1, 1.0, 0}, {8, 2, 8.0, 0}}), b({{1, 1, 1.0, 0}, {2, 1, 2.0, 0}, {4, 1, 4.0, 0}});
  const AllocationProblem problem{Objective::makespan, {2, 4}, {{"a", a, 40, 1}, {"b", b, 40, 1}}};

  const MeasurementAdvice advice = advice_on(problem);

  ASSERT_TRUE(advice.next);
  EXPECT_EQ(advice.next->task, 0U);
  EXPECT_EQ(advice.next->gpus, 4);
}

TEST(NextMeasurement, SaysWhyNothingIsNamed) {
  const RateTable table({{1, 0, 1.0, 0}, {8, 0, 8.0, 0}});
  const AllocationProblem problem{Objective::fairness, {1, 8}, {{"a", table, 40, 1}, {"b", table, 40, 1}}};

  EXPECT_NE(advice_on(problem).reason.find("fairness"), std::string::npos);
}

}  // namespace
}  // namespace multicard
