#include "scheduling/policy/SplitHistory.hpp"

#include <gtest/gtest.h>

#include "scheduling/policy/AdaptiveSplit.hpp"

namespace multicard {
namespace {

std::vector<TaskView> tasks(const std::vector<std::string>& names, const std::vector<int>& ranks) {
  std::vector<TaskView> views(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    views[i].name = names[i];
    if (ranks[i] > 0) views[i].placement = {{0, ranks[i]}};
  }
  return views;
}

std::vector<double> required_after(const std::vector<std::vector<int>>& splits, double min_gain) {
  SplitHistory history;
  std::vector<double> required;
  for (const std::vector<int>& ranks : splits) {
    history.note(tasks({"a", "b"}, ranks));
    required.push_back(history.required_gain(min_gain));
  }
  return required;
}

TEST(SplitHistory, DoublesWithEveryChangeThatIsRepeated) {
  const std::vector<std::vector<int>> to_and_fro{{1, 1}, {2, 0}, {2, 0}, {1, 1}, {2, 0},
                                                 {1, 1}, {2, 0}, {1, 1}, {2, 0}};
  EXPECT_EQ(required_after(to_and_fro, 0.05), (std::vector<double>{0.05, 0.05, 0.05, 0.05, 0.1, 0.2, 0.4, 0.5, 0.5}));
  EXPECT_EQ(required_after(to_and_fro, 0).at(4), 0.05) << "nothing would grow from 0";
  EXPECT_EQ(required_after(to_and_fro, 0.9).back(), 0.9) << "never less than min_gain";
}

TEST(SplitHistory, ExplorationsRepeatNothing) {
  EXPECT_EQ(required_after({{2, 2}, {3, 1}, {2, 2}, {1, 3}, {2, 2}, {4, 0}, {2, 2}}, 0.05).back(), 0.05);
}

TEST(SplitHistory, StartsAfreshWithOtherTasks) {
  SplitHistory history;
  for (int i = 0; i < 4; ++i) {
    history.note(tasks({"a", "b"}, {1, 1}));
    history.note(tasks({"a", "b"}, {2, 0}));
  }
  EXPECT_GT(history.required_gain(0.05), 0.05);
  history.note(tasks({"a"}, {2}));
  EXPECT_EQ(history.required_gain(0.05), 0.05);
}

/// Each split looks worse once it is measured than the other did before: a load that grows all the time.
TEST(SplitHistory, AShareSettlesUnderALoadThatChanges) {
  SplitHistory history;
  TaskView task;
  task.name = "a";
  task.steps_left = 1e6;
  task.max_ranks = 2;
  task.placement = {{0, 2}};
  double slowest = 1;
  int num_moves = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<RateRow> rows{{1, 0, slowest, 0}, {2, 0, slowest, 0}};
    slowest *= 0.85;
    rows[static_cast<std::size_t>(task.ranks() - 1)].rate = slowest;
    task.rates = RateTable(rows);
    history.note({task});
    AdaptiveOptions options;
    options.min_gain = history.required_gain(0);
    const SplitDecision decision = decide_adaptively(options, {task}, Layout::of_ranks(2, 2));
    num_moves += decision.is_change({task}) ? 1 : 0;
    task.placement = {{0, decision.ranks.front()}};
  }
  EXPECT_GE(num_moves, 2);
  EXPECT_LE(num_moves, 6);
}

}  // namespace
}  // namespace multicard
