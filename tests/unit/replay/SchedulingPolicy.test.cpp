#include "replay/SchedulingPolicy.hpp"

#include <gtest/gtest.h>

#include "unit/replay/replay_jobs.hpp"

namespace multicard {
namespace {

TEST(FreeGpus, AreTakenFromTheWidestNodeFirst) {
  FreeGpus free({3, 4});

  free.take({{0, 2}});

  EXPECT_EQ(free.take_widest(6), (JobGpus{{1, 4}, {2, 2}}));
  EXPECT_EQ(free.take_widest(3), (JobGpus{{0, 2}, {2, 1}}));
  EXPECT_EQ(free.count(), 1);
}

TEST(FreeGpus, AreTakenWhereFewestAreLeftOver) {
  FreeGpus free({3, 4});

  free.take({{1, 1}, {2, 2}});

  EXPECT_EQ(free.take_tightest(2), (JobGpus{{2, 2}}));
  EXPECT_EQ(free.take_tightest(5), (JobGpus{{0, 4}, {1, 1}}));
  EXPECT_EQ(free.take_tightest(2), (JobGpus{{1, 2}}));
}

TEST(UsableCounts, AreThoseOfANodeAndOfWholeNodes) {
  const std::map<int, double> seconds{{1, 9}, {2, 8}, {4, 6}, {6, 5}, {8, 4}, {16, 3}};

  EXPECT_EQ(usable_counts(*test::work(seconds), {3, 4}), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(usable_counts(*test::work(seconds), {2, 8}), (std::vector<int>{1, 2, 4, 6, 8, 16}));
}

TEST(Placing, KeepsJobsWhoseCountIsUnchanged) {
  test::Jobs jobs;
  for (const char* name : {"a", "b", "c"})
    jobs.add(test::request(name, 0, 1, {{1, 100}}));
  jobs[0].allocate({{1, 2}}, 0);
  jobs[1].allocate({{0, 4}}, 0);

  const auto allocations = place_largest_first({2, 4}, jobs.active(), {2, 1, 3});

  EXPECT_EQ(allocations[0], (JobGpus{{1, 2}}));
  EXPECT_EQ(allocations[2], (JobGpus{{0, 3}}));
  EXPECT_EQ(allocations[1], (JobGpus{{0, 1}}));
  EXPECT_EQ(place_smallest_first({2, 4}, jobs.active(), {2, 1, 3})[1], (JobGpus{{0, 1}}));
  EXPECT_EQ(place_smallest_first({2, 4}, jobs.active(), {2, 0, 3})[1], JobGpus{});
}

}  // namespace
}  // namespace multicard
