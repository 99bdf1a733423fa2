#include "scheduling/policy/OptimusPolicy.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

TEST(OptimusPolicy, GivesGpusWhereTheySaveMost) {
  OptimusPolicy policy({2, 4});
  test::Jobs jobs;
  jobs.add(test::request("long", 0, 1, {{1, 1000}, {2, 600}, {3, 450}, {4, 440}, {5, 439}}));
  jobs.add(test::request("short", 0, 1, {{1, 100}, {2, 50}, {3, 30}, {4, 29}}));

  // One each; then 400, 150, 50, 20, 10 and 1, where the first in order gets the tie.
  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{5, 3}));
}

TEST(OptimusPolicy, KeepsGpusThatSaveNothing) {
  OptimusPolicy policy({2, 4});
  test::Jobs jobs;
  jobs.add(test::request("a", 0, 1, {{1, 100}, {2, 60}, {3, 61}, {4, 10}}));

  EXPECT_EQ(jobs.follow(policy), std::vector<int>{2});
}

TEST(OptimusPolicy, ServesJobsInOrderWhereGpusAreShort) {
  OptimusPolicy policy({1, 2});
  test::Jobs jobs;
  for (const char* name : {"a", "b", "c"})
    jobs.add(test::request(name, 0, 1, {{1, 100}}));

  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{1, 1, 0}));
}

}  // namespace
}  // namespace multicard
