#include "scheduling/policy/GreedyPolicy.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

TEST(GreedyPolicy, ServesShortJobsFirst) {
  GreedyPolicy policy({1, 1}, 30);
  test::Jobs jobs;
  jobs.add(test::request("long", 0, 1, {{1, 10000}}));
  jobs.add(test::request("short", 0, 1, {{1, 100}}));

  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{0, 1}));
}

TEST(GreedyPolicy, StepsOverCountsThatBringLessThanTheNext) {
  GreedyPolicy policy({2, 8}, 30);
  test::Jobs jobs;
  // As large language models do: no gain up to a node, and then another parallel strategy.
  jobs.add(test::request("jump", 0, 1, {{1, 16000}, {2, 15900}, {4, 15800}, {8, 15700}, {16, 1000}}));

  EXPECT_EQ(jobs.follow(policy), std::vector<int>{16});
}

TEST(GreedyPolicy, GivesAllGpusThatHelp) {
  GreedyPolicy policy({1, 4}, 30);
  test::Jobs jobs;
  jobs.add(test::request("a", 0, 1, {{1, 4000}, {2, 2000}, {4, 1000}}));
  jobs.add(test::request("b", 0, 1, {{1, 4000}, {2, 2000}, {4, 1000}}));
  jobs.add(test::request("flat", 0, 1, {{1, 4000}, {2, 4000}}));

  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{2, 1, 1}));
}

TEST(GreedyPolicy, LeavesJobsAloneForLittle) {
  GreedyPolicy policy({1, 4}, 30);
  test::Jobs jobs;
  jobs.add(test::request("a", 0, 1, {{2, 1000}, {4, 950}}));
  jobs[0].allocate({{0, 2}}, 0);

  EXPECT_EQ(jobs.follow(policy), std::vector<int>{2});
}

}  // namespace
}  // namespace multicard
