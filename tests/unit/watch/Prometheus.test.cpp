#include "watch/Prometheus.hpp"

#include <gtest/gtest.h>

#include "support/watch_status.hpp"

namespace multicard {
namespace {

TEST(Prometheus, EscapesLabels) {
  WatchStatus status = test::whole_status();
  const std::string text = prometheus_text(status, "a\"b\\c\nd\xff");
  EXPECT_NE(text.find("multicard_training_loss{output=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\"} 0.5\n"), std::string::npos)
      << text;
}

TEST(Prometheus, LeavesOutWhatIsNotKnownWithItsHeading) {
  WatchStatus status = test::whole_status();
  const std::string with = prometheus_text(status, "x");
  status.run->checkpoint = {};
  status.run->evaluation.clear();
  const std::string without = prometheus_text(status, "x");
  for (const char* name : {"multicard_checkpoint_write_seconds", "multicard_evaluation"}) {
    EXPECT_NE(with.find(name), std::string::npos);
    EXPECT_EQ(without.find(name), std::string::npos);
  }
  EXPECT_EQ(with.find("nan"), std::string::npos);
  EXPECT_EQ(with.find("multicard_checkpoint_wait_seconds"), std::string::npos);
}

TEST(Prometheus, HasOneStateThatIsOne) {
  const std::string text = prometheus_text(test::whole_status(), "x");
  EXPECT_NE(text.find("multicard_state{output=\"x\",state=\"training\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("multicard_state{output=\"x\",state=\"failed\"} 0\n"), std::string::npos);
}

}  // namespace
}  // namespace multicard
