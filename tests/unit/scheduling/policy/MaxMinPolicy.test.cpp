#include "scheduling/policy/MaxMinPolicy.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

TEST(MaxMinPolicy, RaisesTheLeastShareOfTheBestSpeed) {
  MaxMinPolicy policy({1, 4});
  test::Jobs jobs;
  // Shares 0.25, 0.5, 0.75, 1 and 0.5, 1.
  jobs.add(test::request("scales", 0, 1, {{1, 400}, {2, 200}, {3, 400.0 / 3}, {4, 100}}));
  jobs.add(test::request("saturates", 0, 1, {{1, 200}, {2, 100}}));

  // After one GPU each the first has 0.25; after two both have 0.5, and the first in order continues.
  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{3, 1}));
}

TEST(MaxMinPolicy, StepsOverCountsThatBringNothing) {
  MaxMinPolicy policy({1, 4});
  test::Jobs jobs;
  jobs.add(test::request("a", 0, 1, {{1, 100}, {2, 120}, {4, 50}}));

  EXPECT_EQ(jobs.follow(policy), std::vector<int>{4});
}

TEST(MaxMinPolicy, PrefersJobsThatWereServedLeast) {
  MaxMinPolicy policy({1, 1});
  test::Jobs jobs;
  jobs.add(test::request("a", 0, 1, {{1, 1000}}));
  jobs.add(test::request("b", 0, 1, {{1, 1000}}));

  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{1, 0}));
  jobs[0].advance(0, 60);
  EXPECT_EQ(jobs.follow(policy), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace multicard
