#include "scheduling/policy/SchedulingPolicy.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

TEST(Placing, KeepsJobsWhoseCountIsUnchanged) {
  test::Jobs jobs;
  for (const char* name : {"a", "b", "c"})
    jobs.add(test::request(name, 0, 1, {{1, 100}}));
  jobs[0].allocate({{1, 2}}, 0);
  jobs[1].allocate({{0, 4}}, 0);

  const Layout widest = Layout::of_cluster({2, 4}, PlacementRule::smallest_first);

  const auto allocations = place(Layout::of_cluster({2, 4}), jobs.active(), std::vector{2, 1, 3});

  EXPECT_EQ(allocations[0], (Placement{{1, 2}}));
  EXPECT_EQ(allocations[2], (Placement{{0, 3}}));
  EXPECT_EQ(allocations[1], (Placement{{0, 1}}));
  EXPECT_EQ(place(widest, jobs.active(), std::vector{2, 1, 3})[1], (Placement{{0, 1}}));
  EXPECT_EQ(place(widest, jobs.active(), std::vector{2, 0, 3})[1], Placement{});
}

}  // namespace
}  // namespace multicard
