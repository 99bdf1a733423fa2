#include "scheduling/policy/AdaptiveSplit.hpp"

#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TaskView task(const std::string& name, double steps_left, int ranks, const std::vector<double>& rates) {
  TaskView view;
  view.name = name;
  view.steps_left = steps_left;
  view.max_ranks = 4;
  if (ranks > 0) view.placement = {{0, ranks}};
  view.move_s = 1;
  std::vector<RateRow> rows;
  for (std::size_t i = 0; i < rates.size(); ++i)
    rows.push_back({static_cast<int>(i) + 1, 0, rates[i], 0});
  view.rates = RateTable(rows);
  return view;
}

AdaptiveOptions for_objective(Objective objective, double min_gain = 0.05) {
  AdaptiveOptions options;
  options.objective = objective;
  options.min_gain = min_gain;
  return options;
}

SplitDecision adaptive(const std::vector<TaskView>& tasks, double min_gain = 0.05) {
  return decide_adaptively(for_objective(Objective::makespan, min_gain), tasks, Layout::of_ranks(4, 4));
}

TEST(AdaptiveSplit, GivesTheRanksOfATaskThatHasEndedToTheOther) {
  const std::vector<TaskView> tasks{task("a", 1000, 2, {1, 1.9, 2.7, 3.4})};
  const SplitDecision decision = adaptive(tasks);
  EXPECT_EQ(decision.ranks, (std::vector<int>{4}));
  EXPECT_NEAR(decision.gain, 1 - (1000 / 3.4 + 1) / (1000 / 1.9), 1e-9) << "the move is paid for";
}

TEST(AdaptiveSplit, KeepsASplitThatMovesWouldNotPayFor) {
  const std::vector<TaskView> short_of_end{task("a", 3, 2, {1, 1.9, 2.7, 3.4})};
  EXPECT_FALSE(adaptive(short_of_end).is_change(short_of_end)) << "the move takes as long as the rest";
  const std::vector<TaskView> flat{task("a", 1000, 2, {1, 1.9, 1.92, 1.93})};
  EXPECT_FALSE(adaptive(flat).is_change(flat)) << "less than min_gain";
  EXPECT_TRUE(adaptive(flat, 0).is_change(flat));
}

TEST(AdaptiveSplit, MeasuresWhatItDoesNotKnow) {
  const std::vector<TaskView> tasks{task("a", 100, 4, {1, 2, 3, 4}), task("new", 1, 0, {})};
  const SplitDecision decision = adaptive(tasks);
  EXPECT_EQ(decision.ranks, (std::vector<int>{2, 2}));
  EXPECT_EQ(decision.reason, "new has no measurements yet");
  const std::vector<TaskView> running{task("a", 100, 2, {1, 2, 3, 4}), task("new", 1, 2, {})};
  EXPECT_FALSE(adaptive(running).is_change(running)) << "it is measured now";
}

TEST(AdaptiveSplit, ALargeTaskIsNotOvertakenBySmallOnesThatCameLater) {
  std::vector<TaskView> tasks{task("a", 100, 3, {1, 2, 3, 4}), task("large", 1, 0, {}), task("small", 1, 0, {})};
  tasks[1].min_ranks = 3;
  EXPECT_EQ(adaptive(tasks).ranks, (std::vector<int>{0, 3, 1})) << "a makes room";
  std::vector<TaskView> queue{task("a", 100, 4, {1, 2, 3, 4}), task("one", 1, 0, {}), tasks[1], task("two", 1, 0, {})};
  queue[1].max_ranks = 1;
  queue[2].min_ranks = 4;
  EXPECT_EQ(adaptive(queue).ranks, (std::vector<int>{1, 1, 0, 0})) << "a keeps what two must not take before large";
  tasks[0].rates = {};  // is being measured
  EXPECT_FALSE(adaptive(tasks).is_change(tasks)) << "the free rank is kept for large";
}

TEST(AdaptiveSplit, WhatAMeasurementLeavesGoesToTasksThatWait) {
  std::vector<TaskView> tasks{task("a", 100, 0, {1, 2, 3, 4}), task("new", 1, 0, {})};
  tasks[1].max_ranks = 1;
  const SplitDecision decision = adaptive(tasks);
  EXPECT_EQ(decision.ranks, (std::vector<int>{3, 1}));
  EXPECT_EQ(decision.reason, "new has no measurements yet");
}

TEST(AdaptiveSplit, RanksThatAreFreeMeasureATaskFirst) {
  const std::vector<TaskView> tasks{task("a", 100, 2, {1, 2, 3, 4}), task("new", 1, 0, {})};
  const SplitDecision decision = adaptive(tasks);
  EXPECT_EQ(decision.ranks, (std::vector<int>{2, 2})) << "a is not displaced";
  EXPECT_EQ(decision.cost_s, 1) << "that of the new task alone";
}

TEST(AdaptiveSplit, ATaskThatIsMeasuredKeepsNoOtherFromUsingFreeRanks) {
  std::vector<TaskView> tasks{task("a", 1000, 1, {1, 1.9, 2.8, 3.7}), task("new", 1, 1, {})};
  tasks[1].placement.front().first = 1;
  const SplitDecision decision = adaptive(tasks);
  EXPECT_EQ(decision.ranks, (std::vector<int>{3, 1}));
  EXPECT_NE(decision.reason.find("predicted gain"), std::string::npos);
}

TEST(AdaptiveSplit, AMeasurementWaitsForAnEndThatComesSoonerThanTheMoves) {
  std::vector<TaskView> tasks{task("a", 10, 4, {1, 2, 3, 4}), task("new", 1, 0, {})};
  EXPECT_EQ(adaptive(tasks).ranks, (std::vector<int>{2, 2})) << "2.5 s left, and the moves take 2 s";
  tasks[0].save_s = 1;
  const SplitDecision decision = adaptive(tasks);
  EXPECT_FALSE(decision.is_change(tasks)) << "a is saved first, because it has not run on 2 ranks";
  EXPECT_EQ(decision.reason, "new waits for a task that ends before the moves would be done");
  EXPECT_EQ(decision.cost_s, 3);
  tasks[0].proven_on = {2};
  EXPECT_TRUE(adaptive(tasks).is_change(tasks));
}

TEST(AdaptiveSplit, AnExplorationPaysForTheWayBack) {
  std::vector<TaskView> tasks{task("a", 100, 2, {1, 2, 3, 3.9})};
  const double better = 1 - (100 / 3.9 + 1) / 50;
  EXPECT_NEAR(adaptive(tasks).gain, better, 1e-9);
  tasks[0].unproven = {3, 4};
  const SplitDecision explores = adaptive(tasks);
  EXPECT_NEAR(explores.gain, 1 - (100 / 3.9 + 2) / 50, 1e-9);
  EXPECT_EQ(explores.reason, "trying a on 4 ranks: predicted gain 44.7 %");
  tasks[0].steps_left = 8;
  EXPECT_FALSE(adaptive(tasks).is_change(tasks)) << "2 s more for 1.9 s less";
  tasks[0].unproven = {};
  EXPECT_TRUE(adaptive(tasks).is_change(tasks));
}

TEST(AdaptiveSplit, AProvenSplitIsTakenWhereExploringGainsLess) {
  std::vector<TaskView> tasks{task("a", 100, 2, {1, 2, 3, 3.02})};
  tasks[0].unproven = {4};
  EXPECT_EQ(adaptive(tasks).ranks, (std::vector<int>{3}));
}

TEST(AdaptiveSplit, MovesCostTheObjectivesAboutRatesToo) {
  for (const Objective objective : {Objective::weighted_throughput, Objective::fairness}) {
    std::vector<TaskView> tasks{task("a", 1000, 2, {1, 2, 3, 4})};
    const double end_s = 250;
    EXPECT_NEAR(decide_adaptively(for_objective(objective), tasks, Layout::of_ranks(4, 4)).gain,
                2 * end_s / (end_s + 1) - 1, 1e-9);
    tasks[0].steps_left = 3;
    EXPECT_FALSE(decide_adaptively(for_objective(objective), tasks, Layout::of_ranks(4, 4)).is_change(tasks))
        << "the move takes longer than what is left";
  }
}

TEST(AdaptiveSplit, FreeRanksGoToATaskThatWaitsWhateverMinGainSays) {
  std::vector<TaskView> tasks{task("long", 10000, 1, {1}), task("short", 70, 0, {1})};
  for (TaskView& one : tasks)
    one.max_ranks = 1;
  const AdaptiveOptions options = for_objective(Objective::makespan);
  const SplitDecision decision = decide_adaptively(options, tasks, Layout::of_ranks(2, 2));
  EXPECT_EQ(decision.ranks, (std::vector<int>{1, 1}));
  EXPECT_LT(decision.gain, options.min_gain);
}

TEST(AdaptiveSplit, ALargeTaskDoesNotWaitForAnEndThatFreesTooFewRanks) {
  std::vector<TaskView> tasks{task("soon", 1, 1, {1}), task("late", 1000, 3, {1, 1.9, 2.8}), task("large", 10, 0, {})};
  tasks[1].placement.front().first = 1;
  tasks[2].min_ranks = 3;
  EXPECT_GT(adaptive(tasks).ranks[2], 0) << "soon frees 1 rank";
  tasks[2].min_ranks = 1;
  EXPECT_FALSE(adaptive(tasks).is_change(tasks));
}

TEST(AdaptiveSplit, NoTaskWaitsForTheFirstTasksToStart) {
  const std::vector<TaskView> tasks{task("a", 10, 0, {}), task("b", 10, 0, {})};
  EXPECT_EQ(adaptive(tasks).cost_s, 0);
}

TEST(TaskView, EqualSharesOfNoTasksAndOfArrivals) {
  EXPECT_EQ(equal_share(0, 0, 4), 4) << "the deck has arrivals alone";
  EXPECT_EQ(equal_share(5, 3, 4), 1);
}

TEST(AdaptiveSplit, WhatIsExpectedNeedsRatesOfAllTasks) {
  std::vector<TaskView> tasks{task("a", 100, 2, {1, 2, 3, 4}), task("b", 100, 2, {1, 1.1, 1.1, 1.1})};
  const std::optional<Allocation> expected = expected_values(for_objective(Objective::makespan), tasks, {1, 4});
  ASSERT_TRUE(expected);
  EXPECT_NEAR(*expected->equal, 100 / 1.1, 1e-9);
  EXPECT_NEAR(*expected->sequential, 25 + 100 / 1.1, 1e-9);
  EXPECT_LE(expected->value, *expected->equal);
  tasks[1].rates = {};
  EXPECT_FALSE(expected_values(for_objective(Objective::makespan), tasks, {1, 4}));
}

TEST(AdaptiveSplit, KeepingIsWorthTheBestThatFollowsTheFirstEnd) {
  const std::vector<TaskView> tasks{task("a", 100, 2, {1, 2, 3, 4}), task("b", 300, 2, {1, 2, 3, 4})};
  EXPECT_NEAR(*value_of_keeping(for_objective(Objective::makespan), tasks, {2, 2}, {1, 4}), 50 + 200 / 4.0, 1e-9);
  EXPECT_NEAR(*value_of_keeping(for_objective(Objective::average_completion), tasks, {2, 2}, {1, 4}), (50 + 100) / 2.0,
              1e-9);
  EXPECT_EQ(value_of_keeping(for_objective(Objective::makespan), tasks, {0, 0}, {1, 4}), std::nullopt);
}

TEST(AdaptiveSplit, MoreTasksThanRanksTakeTurnsWhereNoSplitServesAll) {
  const std::vector<double> rates{1, 2, 3, 4};
  std::vector<TaskView> tasks;
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    tasks.push_back(task(name, 100, 0, rates));
  const SplitDecision first = decide_adaptively(for_objective(Objective::fairness), tasks, Layout::of_ranks(4, 4));
  EXPECT_GT(std::accumulate(first.ranks.begin(), first.ranks.end(), 0), 0) << "nothing would ever run";
  tasks.erase(tasks.begin());
  for (std::size_t i = 0; i < 3; ++i)
    tasks[i].placement = {{0, 1}};
  EXPECT_EQ(decide_adaptively(for_objective(Objective::fairness), tasks, Layout::of_ranks(4, 4)).ranks,
            (std::vector<int>{1, 1, 1, 1, 0}))
      << "a rank is free";
  tasks[3].placement = {{0, 1}};
  EXPECT_FALSE(decide_adaptively(for_objective(Objective::fairness), tasks, Layout::of_ranks(4, 4)).is_change(tasks));
}

/// On two nodes with 2 ranks: 1 step a second on a rank and on 2 of a node, more slowly over both.
TaskView on_nodes(const std::string& name, const Placement& placement, double over_both) {
  TaskView view = task(name, 1000, 0, {});
  view.placement = placement;
  view.rates = RateTable({{1, 1, 1.0}, {2, 1, 1.9}, {2, 2, over_both}, {3, 2, 1.4 * over_both}, {4, 2, 2 * over_both}});
  return view;
}

TEST(AdaptiveSplit, PutsTasksOnANodeEachWhereThatIsFaster) {
  const Layout layout = Layout::of_ranks(4, 2);
  const std::vector<TaskView> spread{on_nodes("a", {{0, 1, 0}, {1, 1, 0}}, 0.5),
                                     on_nodes("b", {{0, 1, 1}, {1, 1, 1}}, 0.5)};
  const SplitDecision decision = decide_adaptively(for_objective(Objective::makespan), spread, layout);
  EXPECT_EQ(decision.places(), (std::vector<RanksOnNodes>{{2, 1}, {2, 1}}));
  EXPECT_TRUE(decision.is_change(spread)) << "although the numbers of ranks stay";
  EXPECT_GT(decision.gain, 0.5);
  EXPECT_EQ(decision.cost_s, 2) << "both move";
  std::vector<TaskView> moved = spread;
  const std::vector<Placement> places = place(layout, {spread[0].placement, spread[1].placement}, decision.places());
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(node_counts(moved[i].placement = places[i]), NodeCounts{2});
  EXPECT_FALSE(decide_adaptively(for_objective(Objective::makespan), moved, layout).is_change(moved));
}

TEST(AdaptiveSplit, SpreadsTasksOverNodesWhereThatIsFaster) {
  const std::vector<TaskView> packed{on_nodes("a", {{0, 2, 0}}, 3.0), on_nodes("b", {{1, 2, 0}}, 3.0)};
  const SplitDecision decision = decide_adaptively(for_objective(Objective::fairness), packed, Layout::of_ranks(4, 2));
  EXPECT_EQ(decision.places(), (std::vector<RanksOnNodes>{{2, 2}, {2, 2}}));
}

/// The largest share of the rate over the best one that all tasks can have, by trying all splits and placements.
class EveryPlacement {
 public:
  EveryPlacement(const std::vector<TaskView>& tasks, const Machine& machine) : tasks_(tasks) {
    for (int node = 0; node < machine.nodes; ++node)
      free_.push_back(machine.gpus_of(node));
    search(0, 0, 0, 0, std::numeric_limits<double>::infinity());
  }
  double best() const { return best_; }

 private:
  void search(std::size_t task, std::size_t node, int ranks, int nodes, double least) {
    if (task == tasks_.size()) {
      best_ = std::max(best_, least);
      return;
    }
    if (node == free_.size()) {
      const double rate = ranks > 0 ? rate_on(tasks_[task], {ranks, nodes}) : 0;
      double largest = 0;
      for (const RateRow& row : tasks_[task].rates.rows())
        largest = std::max(largest, row.rate);
      return search(task + 1, 0, 0, 0, std::min(least, rate / largest));
    }
    for (int part = 0; part <= free_[node]; ++part) {
      free_[node] -= part;
      search(task, node + 1, ranks + part, nodes + (part > 0 ? 1 : 0), least);
      free_[node] += part;
    }
  }

  const std::vector<TaskView>& tasks_;
  std::vector<int> free_;
  double best_ = 0;
};

TEST(AdaptiveSplit, IsAsGoodAsTheBestOfAllSplitsAndPlacements) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> rate(0.2, 5);
  for (int trial = 0; trial < 120; ++trial) {
    Layout layout = Layout::of_ranks(4 + trial % 2, 2);
    if (trial % 3 == 0) layout = Layout::of_nodes({0, 1, 1, 2, 0, 1});
    std::vector<TaskView> tasks;
    for (int i = 0; i < 2 + trial % 2; ++i) {
      tasks.push_back(task(std::string(1, static_cast<char>('a' + i)), 100, 0, {}));
      std::vector<RateRow> rows;
      for (int ranks = 1; ranks <= layout.num_gpus; ++ranks)
        for (int nodes = layout.machine.fewest_nodes(ranks); nodes <= std::min(ranks, layout.machine.nodes); ++nodes)
          rows.push_back({ranks, nodes, rate(random)});
      tasks.back().rates = RateTable(rows);
      tasks.back().max_ranks = layout.num_gpus;
    }
    const SplitDecision decision = decide_adaptively(for_objective(Objective::fairness), tasks, layout);
    const std::vector<Placement> places = place(layout, std::vector<Placement>(tasks.size()), decision.places());
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const NodeCounts counts = node_counts(places[i]);
      EXPECT_EQ(static_cast<int>(counts.size()), decision.nodes[i]) << trial;
      double largest = 0;
      for (const RateRow& row : tasks[i].rates.rows())
        largest = std::max(largest, row.rate);
      least = std::min(least, rate_on(tasks[i], {gpus_of(places[i]), static_cast<int>(counts.size())}) / largest);
    }
    EXPECT_NEAR(least, EveryPlacement(tasks, layout.machine).best(), 1e-12) << trial;
  }
}

}  // namespace
}  // namespace multicard
