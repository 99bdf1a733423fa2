#include "device/StepClock.hpp"

#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "base/Clock.hpp"

namespace multicard {
namespace {

void spend(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

double seconds_in(const StepTimes& times, Phase phase) {
  return times.phases[static_cast<std::size_t>(phase)];
}

TEST(StepClock, PutsTimeIntoThePhaseEntered) {
  StepClock clock(at::kCPU);

  clock.begin_step();
  clock.enter(Phase::forward);
  spend(20);
  clock.enter(Phase::backward);
  spend(40);
  clock.end_step();

  const auto steps = clock.take_finished();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_GE(seconds_in(steps[0], Phase::forward), 0.020);
  EXPECT_GE(seconds_in(steps[0], Phase::backward), 0.040);
  EXPECT_LT(seconds_in(steps[0], Phase::other), 0.010);
  EXPECT_EQ(seconds_in(steps[0], Phase::update), 0);
}

TEST(StepClock, PhasesPartitionStepsAndStepsPartitionTheRun) {
  StepClock clock(at::kCPU);
  const TimePoint start = SteadyClock::now();

  clock.begin_step();
  for (int step = 0; step < 5; ++step) {
    for (const Phase phase : {Phase::data_wait, Phase::forward, Phase::backward, Phase::forward, Phase::update}) {
      clock.enter(phase);
      spend(1);
    }
    clock.end_step();
    spend(2);  // belongs to the next step
  }
  const double run_s = seconds_since(start);

  const auto steps = clock.take_finished();
  ASSERT_EQ(steps.size(), 5U);
  double sum_s = 0.002;  // after the last step
  for (const StepTimes& step : steps) {
    EXPECT_DOUBLE_EQ(step.step, std::accumulate(step.phases.begin(), step.phases.end(), 0.0));
    sum_s += step.step;
  }
  EXPECT_NEAR(sum_s, run_s, 1e-3 + 0.1 * run_s);
  EXPECT_GE(seconds_in(steps[1], Phase::other), 0.002);
}

TEST(StepClock, LeavesPausesOut) {
  StepClock clock(at::kCPU);

  clock.begin_step();
  clock.enter(Phase::update);
  spend(5);
  clock.pause();
  spend(200);
  clock.resume();
  spend(5);
  clock.end_step();

  const auto steps = clock.take_finished();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_GE(seconds_in(steps[0], Phase::update), 0.010);
  EXPECT_LT(steps[0].step, 0.200);
}

TEST(StepClock, HandsEachStepOutOnce) {
  StepClock clock(at::kCPU);

  clock.begin_step();
  clock.end_step();
  clock.end_step();

  EXPECT_EQ(clock.take_finished().size(), 2U);
  EXPECT_TRUE(clock.take_finished().empty());
  clock.end_step();
  EXPECT_EQ(clock.take_all().size(), 1U);
}

TEST(StepClock, RefusesPhasesOutsideSteps) {
  StepClock clock(at::kCPU);

  EXPECT_THROW(clock.enter(Phase::forward), std::logic_error);
  EXPECT_THROW(clock.end_step(), std::logic_error);
}

}  // namespace
}  // namespace multicard
