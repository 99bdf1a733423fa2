#include "comm/Meeting.hpp"

#include <chrono>
#include <limits>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

constexpr double kForever = std::numeric_limits<double>::infinity();

TEST(Meeting, EndsWhenTheLastRankHasArrived) {
  Meeting meeting(world());
  const bool is_last = world().rank() == world().size() - 1;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(meeting.has_arrived());
    EXPECT_THROW(meeting.wait(0), std::logic_error);
    if (is_last) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    meeting.arrive();
    EXPECT_TRUE(meeting.has_arrived());
    if (!is_last && i == 0) {
      EXPECT_FALSE(meeting.wait(0)) << "the last rank sleeps";
    }
    EXPECT_TRUE(meeting.wait(kForever));
  }
}

TEST(Meeting, RanksWorkOnUntilAllHaveArrived) {
  Meeting meeting(world());
  int num_turns = 0;
  const bool is_slow = world().rank() == world().size() - 1;
  if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  meeting.arrive();
  while (!meeting.wait(0)) {
    ++num_turns;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!is_slow) {
    EXPECT_GT(num_turns, 3);
  }
}

TEST(Meeting, ACallReachesAllOthersOnceAndIsForOneMeeting) {
  Meeting meeting(world());
  for (int i = 0; i < 5; ++i) {
    const bool calls = world().rank() == i % world().size();
    if (calls) {
      meeting.call();
      meeting.call();
      EXPECT_FALSE(meeting.is_called()) << "by another";
    } else {
      while (!meeting.is_called())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    meeting.arrive();
    EXPECT_TRUE(meeting.wait(kForever));
    EXPECT_FALSE(meeting.is_called()) << "the next one has not been called";
    world().barrier();  // or a call for the next one may come early
  }
}

TEST(Meeting, ManyMayCallAtATime) {
  Meeting meeting(world());
  for (int i = 0; i < 50; ++i) {
    meeting.call();
    meeting.arrive();
    EXPECT_TRUE(meeting.wait(kForever));
  }
  world().barrier();
  EXPECT_FALSE(meeting.is_called()) << "calls of meetings that are over";
}

}  // namespace
}  // namespace multicard
