#include "profiler/ThreadTimes.hpp"

#include <chrono>

#include <gtest/gtest.h>
#include <unistd.h>

namespace multicard {
namespace {

TEST(ThreadTimes, ThisThreadRunsWhileItWorks) {
  const auto before = thread_times();
  if (before.empty()) GTEST_SKIP() << "this system has no schedstat";
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(50)) {
  }
  const auto after = thread_times();
  const std::int64_t ran = after.at(gettid()).running_ns - before.at(gettid()).running_ns;
  const std::int64_t waited = after.at(gettid()).waiting_ns - before.at(gettid()).waiting_ns;
  EXPECT_GE(ran + waited, 30'000'000);
}

TEST(ThreadTimes, RowsAddUpThreadsOfOneName) {
  const std::map<std::int64_t, ThreadTimes> before{{1, {"main", 100, 10}}, {2, {"worker", 50, 0}}, {9, {"gone", 5, 5}}};
  const std::map<std::int64_t, ThreadTimes> after{
      {1, {"main", 400, 20}}, {2, {"worker", 150, 0}}, {3, {"worker", 30, 5}}};
  const std::vector<ThreadRow> rows = thread_rows(before, after, 1000);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "main");
  EXPECT_EQ(rows[0].running_ns, 300);
  EXPECT_EQ(rows[0].idle_ns(), 690);
  EXPECT_EQ(rows[1].count, 2);
  EXPECT_EQ(rows[1].running_ns, 130);
  EXPECT_EQ(rows[1].window_ns, 2000);
}

}  // namespace
}  // namespace multicard
