#include "share/SharePolicy.hpp"

#include <numeric>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TaskView task(const std::string& name, double steps_left, int ranks, const std::vector<double>& rates) {
  TaskView view;
  view.name = name;
  view.steps_left = steps_left;
  view.max_ranks = 4;
  view.ranks = ranks;
  view.move_s = 1;
  std::vector<RateRow> rows;
  for (std::size_t i = 0; i < rates.size(); ++i)
    rows.push_back({static_cast<int>(i) + 1, 0, rates[i], 0});
  view.rates = RateTable(rows);
  return view;
}

ShareDecision adaptive(const std::vector<TaskView>& tasks, double min_gain = 0.05) {
  SharePolicyOptions policy;
  policy.min_gain = min_gain;
  return decide(policy, Objective::makespan, tasks, 4);
}

TEST(SharePolicy, GivesTheRanksOfATaskThatHasEndedToTheOther) {
  const std::vector<TaskView> tasks{task("a", 1000, 2, {1, 1.9, 2.7, 3.4})};
  const ShareDecision decision = adaptive(tasks);
  EXPECT_EQ(decision.ranks, (std::vector<int>{4}));
  EXPECT_NEAR(decision.gain, 1 - (1000 / 3.4 + 1) / (1000 / 1.9), 1e-9) << "the move is paid for";
}

TEST(SharePolicy, KeepsASplitThatMovesWouldNotPayFor) {
  const std::vector<TaskView> short_of_end{task("a", 3, 2, {1, 1.9, 2.7, 3.4})};
  EXPECT_FALSE(adaptive(short_of_end).is_change(short_of_end)) << "the move takes as long as the rest";
  const std::vector<TaskView> flat{task("a", 1000, 2, {1, 1.9, 1.92, 1.93})};
  EXPECT_FALSE(adaptive(flat).is_change(flat)) << "less than min_gain";
  EXPECT_TRUE(adaptive(flat, 0).is_change(flat));
}

TEST(SharePolicy, TasksThatMakeRoomMoveToo) {
  SharePolicyOptions policy;
  policy.name = SharePolicyName::fixed;
  std::vector<TaskView> tasks{task("a", 100, 1, {}), task("b", 100, 1, {}), task("c", 100, 0, {})};
  tasks[1].first_rank = 2;
  for (TaskView& one : tasks)
    one.fixed_ranks = one.name == "c" ? 2 : 1;
  const ShareDecision decision = decide(policy, Objective::makespan, tasks, 4);
  EXPECT_EQ(decision.ranks, (std::vector<int>{1, 1, 2}));
  EXPECT_EQ(decision.cost_s, 2) << "b closes up with a";
}

TEST(SharePolicy, MeasuresWhatItDoesNotKnow) {
  const std::vector<TaskView> tasks{task("a", 100, 4, {1, 2, 3, 4}), task("new", 1, 0, {})};
  const ShareDecision decision = adaptive(tasks);
  EXPECT_EQ(decision.ranks, (std::vector<int>{2, 2}));
  EXPECT_EQ(decision.reason, "new is to be measured");
  const std::vector<TaskView> running{task("a", 100, 2, {1, 2, 3, 4}), task("new", 1, 2, {})};
  EXPECT_FALSE(adaptive(running).is_change(running)) << "it is measured now";
}

TEST(SharePolicy, KeepingIsWorthTheBestThatFollowsTheFirstEnd) {
  const std::vector<TaskView> tasks{task("a", 100, 2, {1, 2, 3, 4}), task("b", 300, 2, {1, 2, 3, 4})};
  EXPECT_NEAR(*value_of_keeping(Objective::makespan, tasks, {2, 2}, 4), 50 + 200 / 4.0, 1e-9);
  EXPECT_NEAR(*value_of_keeping(Objective::average_completion, tasks, {2, 2}, 4), (50 + 100) / 2.0, 1e-9);
  EXPECT_EQ(value_of_keeping(Objective::makespan, tasks, {0, 0}, 4), std::nullopt);
}

TEST(SharePolicy, MoreTasksThanRanksTakeTurnsWhereNoSplitServesAll) {
  const std::vector<double> rates{1, 2, 3, 4};
  std::vector<TaskView> tasks;
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    tasks.push_back(task(name, 100, 0, rates));
  const ShareDecision first = decide({}, Objective::fairness, tasks, 4);
  EXPECT_GT(std::accumulate(first.ranks.begin(), first.ranks.end(), 0), 0) << "nothing would ever run";
  tasks.erase(tasks.begin());
  for (std::size_t i = 0; i < 3; ++i)
    tasks[i].ranks = 1;
  EXPECT_EQ(decide({}, Objective::fairness, tasks, 4).ranks, (std::vector<int>{1, 1, 1, 1, 0})) << "a rank is free";
  tasks[3].ranks = 1;
  EXPECT_FALSE(decide({}, Objective::fairness, tasks, 4).is_change(tasks));
}

TEST(SharePolicy, SequentialGivesAllToTheFirst) {
  SharePolicyOptions policy;
  policy.name = SharePolicyName::sequential;
  std::vector<TaskView> tasks{task("a", 1, 0, {}), task("b", 1, 0, {})};
  tasks[0].max_ranks = 3;
  EXPECT_EQ(decide(policy, Objective::makespan, tasks, 4).ranks, (std::vector<int>{3, 0}));
}

TEST(SharePolicy, FixedGivesWhatTheDeckSaysWhileItLasts) {
  SharePolicyOptions policy;
  policy.name = SharePolicyName::fixed;
  std::vector<TaskView> tasks{task("a", 1, 0, {}), task("b", 1, 0, {}), task("c", 1, 0, {})};
  tasks[0].fixed_ranks = 3;
  tasks[1].fixed_ranks = tasks[2].fixed_ranks = 2;
  tasks[2].min_ranks = 2;
  EXPECT_EQ(decide(policy, Objective::makespan, tasks, 4).ranks, (std::vector<int>{3, 1, 0}));
}

}  // namespace
}  // namespace multicard
