#include "scheduling/policy/JobModel.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

TEST(UsableCounts, AreThoseOfANodeAndOfWholeNodes) {
  const std::map<int, double> seconds{{1, 9}, {2, 8}, {4, 6}, {6, 5}, {8, 4}, {16, 3}};

  EXPECT_EQ(usable_counts(*test::work(seconds), {3, 4}), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(usable_counts(*test::work(seconds), {2, 8}), (std::vector<int>{1, 2, 4, 6, 8, 16}));
}

}  // namespace
}  // namespace multicard
