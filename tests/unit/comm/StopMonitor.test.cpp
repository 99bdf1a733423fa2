#include "comm/StopMonitor.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace multicard {
namespace {

/// To the process, as from outside, and not to this thread.
void send(int signal) {
  ASSERT_EQ(kill(getpid(), signal), 0);
}

template <class Condition>
bool comes_true(Condition condition) {
  for (int wait = 0; wait < 1000; ++wait) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(StopMonitor, TurnsSignalsIntoRequests) {
  StopMonitor monitor;
  monitor.listen();
  EXPECT_FALSE(monitor.stop_requested());
  EXPECT_FALSE(monitor.take_checkpoint_request());

  send(SIGUSR2);
  EXPECT_TRUE(comes_true([&] { return monitor.take_checkpoint_request(); }));
  EXPECT_FALSE(monitor.take_checkpoint_request());
  EXPECT_FALSE(monitor.stop_requested());

  send(SIGUSR1);
  EXPECT_TRUE(comes_true([&] { return monitor.stop_requested(); }));
  EXPECT_EQ(monitor.reason(), "signal SIGUSR1");
}

TEST(StopMonitor, TakesWhatCameBeforeItListens) {
  send(SIGTERM);
  StopMonitor monitor;
  EXPECT_FALSE(monitor.stop_requested());
  monitor.listen();
  EXPECT_TRUE(comes_true([&] { return monitor.stop_requested(); }));
  EXPECT_EQ(monitor.reason(), "signal SIGTERM");

  StopMonitor next;
  EXPECT_FALSE(next.stop_requested()) << "it is taken once";
}

TEST(StopMonitor, StopsAtTheWallLimit) {
  StopMonitor passed;
  passed.set_wall_limit(0.0);
  EXPECT_TRUE(passed.stop_requested());
  EXPECT_EQ(passed.reason(), "run.wall_limit");

  StopMonitor far;
  far.set_wall_limit(1e6);
  EXPECT_FALSE(far.stop_requested());
}

}  // namespace
}  // namespace multicard
