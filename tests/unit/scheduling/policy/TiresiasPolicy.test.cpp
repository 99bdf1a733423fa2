#include "scheduling/policy/TiresiasPolicy.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

constexpr double kRound = 3600;  // 4 GPUs reach 16 GPU-hours in four rounds

TEST(TiresiasPolicy, MovesJobsAfterTheOthersAtSixteenGpuHours) {
  TiresiasPolicy policy({1, 4}, kRound);
  test::Jobs jobs;
  jobs.add(test::request("old", 0, 4, {{4, 1e6}}));
  jobs.add(test::request("new", 0, 3, {{3, 1e6}}));

  for (int round = 0; round < 4; ++round)
    EXPECT_EQ(jobs.follow(policy), (std::vector<int>{4, 0})) << round;

  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{0, 3}));
  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{0, 3}));
}

TEST(TiresiasPolicy, RunsSmallerJobsAfterOneThatDoesNotFit) {
  TiresiasPolicy policy({1, 4}, kRound);
  test::Jobs jobs;
  jobs.add(test::request("a", 0, 3, {{3, 1e6}}));
  jobs.add(test::request("b", 0, 2, {{2, 1e6}}));
  jobs.add(test::request("c", 0, 1, {{1, 1e6}}));

  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{3, 0, 1}));
}

TEST(TiresiasPolicy, OrdersDemotedJobsByTheirDemotion) {
  TiresiasPolicy policy({1, 4}, kRound);
  test::Jobs jobs;
  jobs.add(test::request("slow", 0, 2, {{2, 1e6}}));   // demoted after eight rounds
  jobs.add(test::request("other", 0, 2, {{2, 1e6}}));  // the same, but later in the queue
  for (int round = 0; round < 9; ++round)
    jobs.follow(policy);
  jobs.add(test::request("new", 0, 1, {{1, 1e6}}));

  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{2, 0, 1}));
}

}  // namespace
}  // namespace multicard
