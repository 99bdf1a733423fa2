#include "base/Log.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(Log, AThreadCanCountAsAnotherRank) {
  set_log_level(LogLevel::info);
  testing::internal::CaptureStderr();
  {
    const LogRank second(1);
    log_info("silent");
    std::thread([] { log_info("meanwhile"); }).join();
    {
      const LogRank first(0);
      log_info("inside");
    }
    log_warning("silent");
    log_local_error("of one rank");
  }
  log_info("after");

  EXPECT_EQ(testing::internal::GetCapturedStderr(), "meanwhile\ninside\ntest_base: of one rank\nafter\n");
}

TEST(Log, AWarningIsSaidOnce) {
  set_log_level(LogLevel::info);
  testing::internal::CaptureStderr();
  log_warning("slow");
  log_warning("slow");
  log_warning("slower");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: slow\nwarning: slower\n");
}

}  // namespace
}  // namespace multicard
