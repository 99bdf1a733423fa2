#include "scheduling/solve/NodePlacement.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/solve/Mixes.hpp"

namespace multicard {
namespace {

/// Whether the placement is what the split asks for on this machine.
void expect_valid(const std::vector<Placement>& placement, const Split& split, const Machine& machine) {
  std::vector<int> used(static_cast<std::size_t>(machine.nodes), 0);
  for (std::size_t task = 0; task < split.size(); ++task) {
    int gpus = 0;
    for (const NodeShare& share : placement[task]) {
      EXPECT_GT(share.gpus, 0);
      gpus += share.gpus;
      used[static_cast<std::size_t>(share.node)] += share.gpus;
    }
    EXPECT_EQ(gpus, split[task].gpus);
    if (split[task].nodes > 0) {
      EXPECT_EQ(placement[task].size(), static_cast<std::size_t>(split[task].nodes));
    }
  }
  for (const int gpus : used)
    EXPECT_LE(gpus, machine.gpus_per_node);
}

TEST(NodePlacement, FindsAPlacementExactlyWhereThereIsOne) {
  std::mt19937 random(5);
  int num_placed = 0, num_refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Machine machine{1 + trial % 4, 2 + trial % 3};
    Split split;
    for (int left = machine.gpus(), tasks = 1 + trial % 5; left > 0 && tasks > 0; --tasks) {
      const int gpus = std::uniform_int_distribution<int>(1, left)(random);
      const int least = (gpus + machine.gpus_per_node - 1) / machine.gpus_per_node;
      const int nodes = std::uniform_int_distribution<int>(least, std::min(machine.nodes, gpus))(random);
      split.push_back({gpus, trial % 7 == 0 ? 0 : nodes, 1.0});
      left -= gpus;
    }
    const std::optional<std::vector<Placement>> placement = place(split, machine);
    ASSERT_EQ(placement.has_value(), can_place(split, machine)) << trial;
    if (placement) expect_valid(*placement, split, machine);
    ++(placement ? num_placed : num_refused);
  }
  EXPECT_GT(num_placed, 500);
  EXPECT_GT(num_refused, 100);
}

TEST(NodePlacement, PutsUnboundTasksOnFewNodes) {
  const std::optional<std::vector<Placement>> placement = place({{2, 0, 1.0}, {4, 0, 1.0}, {2, 0, 1.0}}, {2, 4});

  ASSERT_TRUE(placement);
  for (const std::vector<NodeShare>& shares : *placement)
    EXPECT_EQ(shares.size(), 1U);
}

TEST(NodePlacement, FillsALargeMachine) {
  Split split;
  for (int task = 0; task < 64; ++task)
    split.push_back({64, 8, 1.0});
  const Machine machine{512, 8};
  const std::optional<std::vector<Placement>> placement = place(split, machine);
  ASSERT_TRUE(placement);
  expect_valid(*placement, split, machine);
}

}  // namespace
}  // namespace multicard
