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

TEST(Watchdog, JudgesEachGroupByItsOwnLimitAndStep) {
  std::promise<std::string> said;
  Watchdog patient(30, [&](const std::string& message) { said.set_value(message); });
  patient.set_step(3);
  const std::shared_ptr<Watchdog> strict = patient.apart();
  EXPECT_EQ(strict->limit(), 30);
  strict->set_limit(0.3);
  strict->set_step(12);

  const Watchdog::Guard slow(&patient, "barrier");
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  auto message = said.get_future();
  EXPECT_EQ(message.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  const Watchdog::Guard guard(strict.get(), "all-reduce");

  ASSERT_EQ(message.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_NE(message.get().find("all-reduce at step 12 did not finish within 0.3 s"), std::string::npos);
}

TEST(Watchdog, IsPatientInOneGroupAlone) {
  std::promise<std::string> said;
  Watchdog one(0.2, [&](const std::string& message) { said.set_value(message); });
  const std::shared_ptr<Watchdog> other = one.apart();
  const Watchdog::LongerTimeout longer_timeout(&one, 30);

  const Watchdog::Guard guard(other.get(), "barrier");

  EXPECT_EQ(said.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
}

TEST(Watchdog, OutlivesTheOneItWasMadeFrom) {
  std::promise<std::string> said;
  auto first = std::make_unique<Watchdog>(0.2, [&](const std::string& message) { said.set_value(message); });
  const std::shared_ptr<Watchdog> second = first->apart();
  first.reset();

  const Watchdog::Guard guard(second.get(), "barrier");

  EXPECT_EQ(said.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
}

TEST(Watchdog, AllowsNone) {
  const Watchdog::Guard guard(nullptr, "barrier");
}

}  // namespace
}  // namespace multicard
