#include "scheduling/policy/AdaptivePolicy.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TaskView task(const std::string& name, const RankSet& ranks, const std::vector<double>& rates) {
  TaskView view;
  view.name = name;
  view.steps_left = 1000;
  view.max_ranks = 4;
  view.placement = Layout::of_ranks(4, 2).placement_of(ranks);
  std::vector<RateRow> rows;
  for (std::size_t i = 0; i < rates.size(); ++i)
    rows.push_back({static_cast<int>(i) + 1, 0, rates[i], 0});
  view.rates = RateTable(rows);
  return view;
}

TEST(AdaptivePolicy, PutsTasksOnConsecutiveRanksOfNamedNodes) {
  AdaptivePolicy policy({}, Layout::of_ranks(4, 2));
  const TaskView only = task("only", {1, 1}, {1, 1.9, 2.8, 3.7});

  const Decision decision = policy.decide(0, {&only});

  EXPECT_EQ(decision.placements.at(0), (Placement{{0, 2, 0}, {1, 2, 0}}));
  EXPECT_NE(decision.reason.find("predicted gain"), std::string::npos) << decision.reason;
  EXPECT_GT(decision.gain, 0.7);
}

/// Each split looks worse once it is measured than the other did before: a load that grows all the time.
TEST(AdaptivePolicy, SettlesUnderALoadThatChanges) {
  AdaptiveOptions options;
  options.min_gain = 0;
  AdaptivePolicy policy(options, Layout::of_ranks(2, 2));
  TaskView only = task("only", {0, 2}, {});
  only.max_ranks = 2;
  only.steps_left = 1e6;
  double slowest = 1;
  int num_moves = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<RateRow> rows{{1, 0, slowest, 0}, {2, 0, slowest, 0}};
    slowest *= 0.85;
    rows[static_cast<std::size_t>(only.ranks() - 1)].rate = slowest;
    only.rates = RateTable(rows);
    const Decision decision = policy.decide(round, {&only});
    num_moves += decision.placements.front() == only.placement ? 0 : 1;
    only.placement = decision.placements.front();
  }
  EXPECT_GE(num_moves, 2);
  EXPECT_LE(num_moves, 6);
}

}  // namespace
}  // namespace multicard
