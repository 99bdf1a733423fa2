#include "scheduling/policy/SimplePolicies.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TaskView task(const std::string& name, const RankSet& ranks, int requested = 0) {
  TaskView view;
  view.name = name;
  view.max_ranks = 4;
  view.requested = requested;
  view.placement = Layout::of_ranks(4, 4).placement_of(ranks);
  view.move_s = 1;
  return view;
}

/// The ranks that the tasks get.
std::vector<int> ranks_of(const Decision& decision) {
  std::vector<int> ranks;
  for (const Placement& placement : decision.placements)
    ranks.push_back(gpus_of(placement));
  return ranks;
}

Decision decided(SchedulingPolicy& policy, const std::vector<TaskView>& tasks) {
  ActiveTasks active;
  for (const TaskView& one : tasks)
    active.push_back(&one);
  return policy.decide(0, active);
}

TEST(RequestedPolicy, TasksThatKeepTheirRanksStay) {
  const Layout layout = Layout::of_ranks(4, 4);
  RequestedPolicy policy(layout);
  const Decision decision = decided(policy, {task("a", {0, 1}, 1), task("b", {2, 1}, 1), task("c", {}, 2)});
  EXPECT_EQ(ranks_of(decision), (std::vector<int>{1, 1, 2}));
  EXPECT_EQ(layout.ranks_of(decision.placements[1]), RankSet(2, 1));
  EXPECT_EQ(layout.ranks_of(decision.placements[2]), RankSet(std::vector<int>{1, 3}));
  EXPECT_EQ(decision.cost_s, 1) << "c gets ranks apart";
}

TEST(RequestedPolicy, GivesWhatTheDeckSaysWhileItLasts) {
  RequestedPolicy policy(Layout::of_ranks(4, 4));
  std::vector<TaskView> tasks{task("a", {}, 3), task("b", {}, 2), task("c", {}, 2)};
  tasks[2].min_ranks = 2;
  EXPECT_EQ(ranks_of(decided(policy, tasks)), (std::vector<int>{3, 1, 0}));
}

TEST(SequentialPolicy, GivesAllToTheFirst) {
  SequentialPolicy policy(Layout::of_ranks(4, 4));
  std::vector<TaskView> tasks{task("a", {}), task("b", {})};
  tasks[0].max_ranks = 3;
  EXPECT_EQ(ranks_of(decided(policy, tasks)), (std::vector<int>{3, 0}));
}

}  // namespace
}  // namespace multicard
