#include "comm/Heartbeat.hpp"

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "comm/Watchdog.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

TEST(Heartbeat, StaysQuietWhileRanksLeaveAtDifferentTimes) {
  bool expired = false;
  world().watchdog()->set_limit(4);
  {
    const Heartbeat heartbeat(world(), [&](const std::string&) { expired = true; });
    if (world().rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5500));
  }
  world().idle_barrier();
  EXPECT_FALSE(expired) << "the others had left, and had said so";
}

TEST(Heartbeat, NamesARankThatSendsNothing) {
  const Communicator ranks = world().duplicate();
  ranks.watchdog()->set_limit(4);
  const int last = world().size() - 1;
  std::promise<std::string> said;
  std::optional<Heartbeat> heartbeat;
  Communicator silent = Communicator::null();
  if (world().rank() == last)
    silent = ranks.duplicate();  // as the Heartbeat does first; but no thread
  else
    heartbeat.emplace(ranks, [&](const std::string& message) { said.set_value(message); });
  if (world().rank() == 0) {
    auto message = said.get_future();
    ASSERT_EQ(message.wait_for(std::chrono::seconds(30)), std::future_status::ready);
    EXPECT_NE(message.get().find("rank " + std::to_string(last) + " did not answer for 4 s"), std::string::npos);
  }
  world().idle_barrier();
}

}  // namespace
}  // namespace multicard
