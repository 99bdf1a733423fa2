#include "share/TaskReport.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(TaskReport, ArrivesAsItWasSent) {
  TaskReport report;
  report.num_completed = 7;
  report.num_steps = 9;
  report.step_s = 0.5;
  report.gradient_bytes = 1e9;
  report.is_stopped = true;
  EXPECT_TRUE(std::isnan(report_of(numbers_of(report)).loss));
  report.loss = 1.5;
  for (const std::size_t number : {std::size_t{0}, std::size_t{3}, kMostReported}) {
    report.new_step_s.assign(number, 0.25);
    const TaskReport again = report_of(numbers_of(report));
    EXPECT_EQ(again.num_completed, 7);
    EXPECT_EQ(again.num_steps, 9);
    EXPECT_EQ(again.step_s, 0.5);
    EXPECT_EQ(again.gradient_bytes, 1e9);
    EXPECT_EQ(again.loss, 1.5);
    EXPECT_TRUE(again.is_stopped);
    EXPECT_FALSE(again.has_ended);
    EXPECT_EQ(again.new_step_s, report.new_step_s);
  }
}

}  // namespace
}  // namespace multicard
