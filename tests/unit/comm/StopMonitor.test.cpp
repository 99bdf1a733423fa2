#include "comm/StopMonitor.hpp"

#include <csignal>
#include <string>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(StopMonitor, TurnsSignalsIntoRequests) {
  StopMonitor monitor;
  EXPECT_FALSE(monitor.stop_requested());
  EXPECT_FALSE(monitor.take_checkpoint_request());

  std::raise(SIGUSR2);
  EXPECT_TRUE(monitor.take_checkpoint_request());
  EXPECT_FALSE(monitor.take_checkpoint_request());
  EXPECT_FALSE(monitor.stop_requested());

  std::raise(SIGUSR1);
  EXPECT_TRUE(monitor.stop_requested());
  EXPECT_EQ(std::string(monitor.reason()), "signal SIGUSR1");
}

TEST(StopMonitor, StopsAtTheWallLimit) {
  {
    StopMonitor passed;
    passed.set_wall_limit(0.0);
    EXPECT_TRUE(passed.stop_requested());
    EXPECT_EQ(std::string(passed.reason()), "run.wall_limit");
  }
  StopMonitor far;
  far.set_wall_limit(1e6);
  EXPECT_FALSE(far.stop_requested());
}

}  // namespace
}  // namespace multicard
