#include "device/StepClock.hpp"

#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

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

TEST(StepClock, WaitsForCollectivesAreNotOfThePhaseThatComputes) {
  StepClock clock(at::kCPU);
  const auto wait = [] {
    const CollectiveWait waiting;
    const CollectiveWait within;
    spend(20);
  };

  wait();  // no step is open
  clock.begin_step();
  for (const Phase phase : {Phase::transfer, Phase::forward, Phase::update}) {
    clock.enter(phase);
    wait();
    spend(5);
  }
  std::thread(wait).join();  // of a thread that does not train
  clock.end_step();
  clock.pause();
  wait();

  const auto steps = clock.take_finished();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_GE(seconds_in(steps[0], Phase::reduce_wait), 0.040);
  EXPECT_LT(seconds_in(steps[0], Phase::forward), 0.020);
  EXPECT_GE(seconds_in(steps[0], Phase::forward), 0.005);
  EXPECT_GE(seconds_in(steps[0], Phase::transfer), 0.025) << "rows that are scattered are data";
  EXPECT_GE(seconds_in(steps[0], Phase::update), 0.025);
  EXPECT_LT(seconds_in(steps[0], Phase::update), 0.040);
  EXPECT_DOUBLE_EQ(steps[0].step, std::accumulate(steps[0].phases.begin(), steps[0].phases.end(), 0.0));
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

// A device that a test drives: its time stands still unless it computes.
class Device : public TimeMarks {
 public:
  explicit Device(double& seconds) : seconds_(seconds) {}
  Mark set() override {
    marks_.push_back(seconds_);
    return static_cast<Mark>(marks_.size()) - 1;
  }
  bool reached(Mark) override { return true; }
  void wait_for(Mark) override {}
  double seconds(Mark from, Mark until) override {
    return marks_.at(static_cast<std::size_t>(until)) - marks_.at(static_cast<std::size_t>(from));
  }
  void release(Mark) override {}

 private:
  double& seconds_;
  std::vector<double> marks_;
};

TEST(StepClockOfADevice, ReportsTheHostsWaitingForDataApartFromTheDevicesPhases) {
  double device_s = 0;
  StepClock clock(std::make_unique<Device>(device_s));
  EXPECT_STREQ(clock.name(), "device");

  clock.begin_step();
  clock.enter(Phase::data_wait);  // hidden: the device waits for nothing
  spend(20);
  clock.enter(Phase::forward);
  spend(200);
  device_s += 3;
  clock.enter(Phase::data_wait);  // of a second micro-batch
  spend(20);
  clock.pause();
  spend(200);
  clock.resume();
  device_s += 0.5;
  clock.end_step();
  clock.end_step();

  const auto steps = clock.take_finished();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_DOUBLE_EQ(seconds_in(steps[0], Phase::data_wait), 0.5);
  EXPECT_DOUBLE_EQ(seconds_in(steps[0], Phase::forward), 3);
  EXPECT_DOUBLE_EQ(steps[0].step, 3.5);
  EXPECT_GE(steps[0].host_data_wait.value(), 0.040);
  EXPECT_LT(steps[0].host_data_wait.value(), 0.200);
  EXPECT_EQ(steps[1].host_data_wait, 0);
}

TEST(StepClock, ReportsWaitingForDataOnce) {
  StepClock clock(at::kCPU);
  clock.begin_step();
  clock.enter(Phase::data_wait);
  clock.end_step();

  EXPECT_FALSE(clock.take_finished().at(0).host_data_wait);
}

TEST(StepClock, RefusesPhasesOutsideSteps) {
  StepClock clock(at::kCPU);

  EXPECT_THROW(clock.enter(Phase::forward), std::logic_error);
  EXPECT_THROW(clock.end_step(), std::logic_error);
}

/// Writes down what it is told.
class Diary : public StepObserver {
 public:
  void enter(Phase phase) override { add(kPhaseNames[static_cast<std::size_t>(phase)]); }
  void end_step() override { add("end"); }
  void pause() override { add("pause"); }

  std::string text;

 private:
  void add(const std::string& event) { text += (text.empty() ? "" : " ") + event; }
};

TEST(StepClock, ReportsToObserversWhatStepsDo) {
  Diary first, second;
  StepClock clock(at::kCPU);
  clock.observe(first);
  clock.observe(second);
  clock.begin_step();
  clock.enter(Phase::forward);
  clock.enter(Phase::forward);  // the same
  clock.enter(Phase::update);
  clock.end_step();
  clock.begin_step();  // it is open
  clock.enter(Phase::data_wait);
  clock.pause();
  clock.pause();
  clock.resume();
  clock.end_step();
  EXPECT_EQ(first.text, "other forward update end other data_wait pause data_wait end other");
  EXPECT_EQ(second.text, first.text);
}

}  // namespace
}  // namespace multicard
