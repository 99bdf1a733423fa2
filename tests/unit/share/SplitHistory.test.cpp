#include "share/SplitHistory.hpp"

#include <gtest/gtest.h>

#include "share/SharePolicy.hpp"

namespace multicard {
namespace {

std::vector<TaskView> tasks(const std::vector<std::string>& names) {
  std::vector<TaskView> views(names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    views[i].name = names[i];
  return views;
}

TEST(SplitHistory, AsksForMoreWithEveryReturnButTheFirst) {
  SplitHistory history;
  const std::vector<TaskView> both = tasks({"a", "b"});
  std::vector<double> required;
  for (const std::vector<int>& ranks : {std::vector<int>{1, 1}, {2, 0}, {2, 0}, {1, 1}, {2, 0}, {0, 2}, {1, 1}}) {
    history.note(both, ranks);
    required.push_back(history.required_gain(0.05));
  }
  EXPECT_EQ(required, (std::vector<double>{0.05, 0.05, 0.05, 0.05, 0.1, 0.1, 0.2}));
  EXPECT_GT(history.required_gain(0), 0) << "nothing would grow from 0";
}

TEST(SplitHistory, StartsAfreshWithOtherTasks) {
  SplitHistory history;
  for (int i = 0; i < 4; ++i) {
    history.note(tasks({"a", "b"}), {1, 1});
    history.note(tasks({"a", "b"}), {2, 0});
  }
  EXPECT_GT(history.required_gain(0.05), 0.05);
  history.note(tasks({"a"}), {2});
  EXPECT_EQ(history.required_gain(0.05), 0.05);
}

/// Each split looks worse once it is measured than the other did before: a load that grows all the time.
TEST(SplitHistory, AShareSettlesUnderALoadThatChanges) {
  SplitHistory history;
  TaskView task;
  task.name = "a";
  task.steps_left = 1e6;
  task.max_ranks = 2;
  task.ranks = 2;
  double slowest = 1;
  int num_moves = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<RateRow> rows{{1, 0, slowest, 0}, {2, 0, slowest, 0}};
    slowest *= 0.85;
    rows[static_cast<std::size_t>(task.ranks - 1)].rate = slowest;
    task.rates = RateTable(rows);
    SharePolicyOptions policy;
    policy.min_gain = history.required_gain(0);
    const ShareDecision decision = decide(policy, Objective::makespan, {task}, 2);
    num_moves += decision.is_change({task}) ? 1 : 0;
    history.note({task}, decision.ranks);
    task.ranks = decision.ranks.front();
  }
  EXPECT_GE(num_moves, 2);
  EXPECT_LE(num_moves, 6);
}

}  // namespace
}  // namespace multicard
