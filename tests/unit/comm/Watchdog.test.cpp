#include "comm/Watchdog.hpp"

#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(Watchdog, NamesTheOperationThatDoesNotComeBack) {
  std::promise<std::string> said;
  Watchdog watchdog(0.3, [&](const std::string& message) { said.set_value(message); });
  watchdog.set_step(12);

  const Watchdog::Guard guard(&watchdog, "all-reduce");

  auto message = said.get_future();
  ASSERT_EQ(message.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_NE(message.get().find("all-reduce at step 12 did not finish within 0.3 s"), std::string::npos);
}

TEST(Watchdog, StaysQuietWhenOperationsEnd) {
  bool expired = false;
  {
    Watchdog watchdog(0.5, [&](const std::string&) { expired = true; });
    for (int i = 0; i < 3; ++i) {
      const Watchdog::Guard guard(&watchdog, "barrier");
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
    }
  }
  EXPECT_FALSE(expired);
}

TEST(Watchdog, IsPatientInsideAPatientOperation) {
  bool expired = false;
  {
    Watchdog watchdog(0.2, [&](const std::string&) { expired = true; });
    const Watchdog::LongerTimeout longer_timeout(&watchdog, 30);
    const Watchdog::Guard outer(&watchdog, "closing");
    const Watchdog::Guard inner(&watchdog, "all-reduce");
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
  }
  EXPECT_FALSE(expired);
}

TEST(Watchdog, IsPatientForOneThreadAlone) {
  std::promise<std::string> said;
  Watchdog watchdog(0.2, [&](const std::string& message) { said.set_value(message); });
  const Watchdog::LongerTimeout longer_timeout(&watchdog, 30);
  auto message = said.get_future();

  std::thread other([&] {
    const Watchdog::Guard guard(&watchdog, "barrier");
    EXPECT_EQ(message.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  });

  other.join();
  EXPECT_NE(message.get().find("barrier"), std::string::npos);
}

TEST(Watchdog, ALongerTimeoutAloneIsNoOperation) {
  bool expired = false;
  {
    Watchdog watchdog(0.1, [&](const std::string&) { expired = true; });
    const Watchdog::LongerTimeout longer_timeout(&watchdog, 0.2);
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
  }
  EXPECT_FALSE(expired);
}

TEST(Watchdog, AllowsNone) {
  const Watchdog::Guard guard(nullptr, "barrier");
}

}  // namespace
}  // namespace multicard
