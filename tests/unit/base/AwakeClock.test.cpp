#include "base/AwakeClock.hpp"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace multicard {
namespace {

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

TEST(AwakeClock, CountsAsOthersWhileLookedAt) {
  AwakeClock clock;
  const TimePoint start = SteadyClock::now();
  for (int i = 0; i < 5; ++i) {
    sleep_s(0.02);
    clock.look();
  }
  EXPECT_GE(clock.now(), 0.1);
  EXPECT_LE(clock.now(), seconds_since(start));
}

TEST(AwakeClock, CountsLittleOfALongGap) {
  AwakeClock clock;
  sleep_s(1.3);
  EXPECT_DOUBLE_EQ(clock.now(), AwakeClock::kLongestGapS);
  clock.look();
  EXPECT_LT(clock.now(), 1.2);
}

}  // namespace
}  // namespace multicard
