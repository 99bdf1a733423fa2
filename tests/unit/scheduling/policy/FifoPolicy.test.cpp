#include "scheduling/policy/FifoPolicy.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

test::Jobs three_jobs() {
  test::Jobs jobs;
  jobs.add(test::request("a", 0, 3, {{3, 100}}));
  jobs.add(test::request("b", 1, 2, {{2, 100}}));
  jobs.add(test::request("c", 2, 1, {{1, 100}}));
  return jobs;
}

TEST(FifoPolicy, LetsNoJobOvertake) {
  FifoPolicy policy({1, 4}, Backfill::no);

  EXPECT_EQ(three_jobs().follow(policy), (std::vector<int>{3, 0, 0}));
}

TEST(FifoPolicy, LetsThoseThatFitOvertakeWithBackfill) {
  FifoPolicy policy({1, 4}, Backfill::yes);
  test::Jobs jobs = three_jobs();

  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{3, 0, 1}));
  jobs.add(test::request("d", 3, 1, {{1, 100}}));
  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{3, 0, 1, 0}));
}

TEST(FifoPolicy, TakesNothingAway) {
  FifoPolicy policy({1, 4}, Backfill::no);
  test::Jobs jobs = three_jobs();
  jobs[2].allocate({{0, 1}}, 0);
  jobs[1].allocate({{0, 2}}, 0);

  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{0, 2, 1}));
}

}  // namespace
}  // namespace multicard
