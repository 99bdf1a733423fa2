#include "comm/AsyncBarrier.hpp"

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

TEST(AsyncBarrier, EndsWhenTheLastRankHasArrived) {
  AsyncBarrier barrier(world());
  const bool is_last = world().rank() == world().size() - 1;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(barrier.has_arrived());
    EXPECT_THROW(barrier.wait(0), std::logic_error);
    if (is_last) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    barrier.arrive();
    EXPECT_TRUE(barrier.has_arrived());
    if (!is_last && i == 0) {
      EXPECT_FALSE(barrier.wait(0)) << "the last rank sleeps";
    }
    EXPECT_TRUE(barrier.wait(kForever));
  }
}

TEST(AsyncBarrier, RanksWorkOnUntilAllHaveArrived) {
  AsyncBarrier barrier(world());
  int num_turns = 0;
  const bool is_slow = world().rank() == world().size() - 1;
  if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  barrier.arrive();
  while (!barrier.wait(0)) {
    ++num_turns;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!is_slow) {
    EXPECT_GT(num_turns, 3);
  }
}

TEST(AsyncBarrier, ARequestReachesAllOthersOnceAndIsForOneBarrier) {
  AsyncBarrier barrier(world());
  for (int i = 0; i < 5; ++i) {
    const bool requests = world().rank() == i % world().size();
    if (requests) {
      EXPECT_FALSE(barrier.has_requested());
      barrier.request();
      barrier.request();
      EXPECT_TRUE(barrier.has_requested());
      EXPECT_FALSE(barrier.is_requested()) << "by another";
    } else {
      while (!barrier.is_requested())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    barrier.arrive();
    EXPECT_TRUE(barrier.wait(kForever));
    EXPECT_FALSE(barrier.is_requested()) << "the next one has not been requested";
    world().barrier();  // or a request for the next one may come early
  }
}

TEST(AsyncBarrier, ManyMayRequestAtATime) {
  AsyncBarrier barrier(world());
  for (int i = 0; i < 50; ++i) {
    barrier.request();
    barrier.arrive();
    EXPECT_TRUE(barrier.wait(kForever));
  }
  world().barrier();
  EXPECT_FALSE(barrier.is_requested()) << "requests for barriers that are over";
}

}  // namespace
}  // namespace multicard
