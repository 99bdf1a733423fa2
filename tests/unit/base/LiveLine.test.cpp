#include "base/LiveLine.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/Log.hpp"

namespace multicard {
namespace {

class LiveLineTest : public testing::Test {
 protected:
  LiveLineTest() {
    setenv("MULTICARD_PROGRESS", "live", 1);
    set_log_level(LogLevel::info);
    testing::internal::CaptureStderr();
  }
  ~LiveLineTest() override { unsetenv("MULTICARD_PROGRESS"); }

  static std::string shown() { return testing::internal::GetCapturedStderr(); }
};

TEST_F(LiveLineTest, IsKeptOrErasedAtItsEnd) {
  LiveLine(LineEnd::kept).show("a");
  LiveLine(LineEnd::erased).show("b");
  LiveLine().finish();

  EXPECT_EQ(shown(), "\r\033[Ka\n\r\033[Kb\r\033[K");
}

TEST_F(LiveLineTest, GivesWayToAMessage) {
  LiveLine line;
  line.show("a");
  log_warning("b");
  log_debug("not shown");
  line.show("c");
  line.finish();
  log_info("d");

  EXPECT_EQ(shown(), "\r\033[Ka\r\033[Kwarning: b\n\r\033[Kc\nd\n");
}

TEST_F(LiveLineTest, IsNotEndedOnceMoreAfterAMessage) {
  LiveLine line;
  line.show("a");
  log_info("b");
  line.finish();
  line.erase();

  EXPECT_EQ(shown(), "\r\033[Ka\r\033[Kb\n");
}

TEST_F(LiveLineTest, OfTwoOwnersIsEndedByTheFirst) {
  LiveLine outer(LineEnd::erased);
  outer.show("a");
  {
    LiveLine inner(LineEnd::erased);
    inner.show("b");
  }
  outer.finish();

  EXPECT_EQ(shown(), "\r\033[Ka\r\033[Kb\r\033[K");
}

}  // namespace
}  // namespace multicard
