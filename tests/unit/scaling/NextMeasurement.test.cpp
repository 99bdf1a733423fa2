#include "scaling/NextMeasurement.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(NextMeasurement, NamesTheGapThatMattersMost) {
  // a could be much faster between 1 and 8 GPUs; b is measured everywhere.
  const RateTable a({{1, 0, 1.0, 0}, {8, 0, 8.0, 0}}),
      b({{1, 0, 1.0, 0}, {2, 0, 2.0, 0}, {3, 0, 3.0, 0}, {4, 0, 4.0, 0}});
  const AllocationProblem problem{Objective::makespan, {1, 8}, {{"a", a, 40, 1}, {"b", b, 40, 1}}};

  const std::optional<NextMeasurement> next = next_measurement(problem);

  ASSERT_TRUE(next);
  EXPECT_EQ(next->task, 0U);
  EXPECT_EQ(next->gpus, 4);
  EXPECT_DOUBLE_EQ(next->value, 10);
}

TEST(NextMeasurement, IsNoneWhereNothingIsMissing) {
  const RateTable full({{1, 0, 1.0, 0}, {2, 0, 1.9, 0}, {3, 0, 2.7, 0}, {4, 0, 3.4, 0}});
  const AllocationProblem problem{Objective::makespan, {1, 4}, {{"a", full, 40, 1}, {"b", full, 40, 1}}};

  EXPECT_FALSE(next_measurement(problem));
}

}  // namespace
}  // namespace multicard
