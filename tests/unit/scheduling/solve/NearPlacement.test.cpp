#include "scheduling/solve/NearPlacement.hpp"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace multicard {
namespace {

/// The cost of the best placement, by trying all.
class EveryWay {
 public:
  EveryWay(const Split& split, const Machine& machine, const std::vector<GpusByNode>& before, Spread spread)
      : split_(split), machine_(machine), before_(before), spread_(spread) {
    for (int node = 0; node < machine.nodes; ++node)
      free_.push_back(machine.gpus_of(node));
    places_.assign(split.size(), GpusByNode(free_.size()));
    search(0, 0);
  }
  const std::optional<PlacementCost>& best() const { return best_; }

 private:
  void search(std::size_t task, std::size_t node) {
    if (task == split_.size()) {
      const PlacementCost cost = placement_cost(split_, machine_, before_, places_, spread_);
      if (!best_ || cost < *best_) best_ = cost;
      return;
    }
    if (node == free_.size()) {
      const GpusByNode& gpus = places_[task];
      const auto nodes = std::count_if(gpus.begin(), gpus.end(), [](int number) { return number > 0; });
      const bool fits = std::accumulate(gpus.begin(), gpus.end(), 0) == split_[task].gpus &&
                        (split_[task].nodes == 0 || nodes == split_[task].nodes);
      if (fits) search(task + 1, 0);
      return;
    }
    for (int part = 0; part <= free_[node]; ++part) {
      free_[node] -= part;
      places_[task][node] = part;
      search(task, node + 1);
      places_[task][node] = 0;
      free_[node] += part;
    }
  }

  const Split& split_;
  const Machine& machine_;
  const std::vector<GpusByNode>& before_;
  Spread spread_;
  std::vector<int> free_;
  std::vector<GpusByNode> places_;
  std::optional<PlacementCost> best_;
};

TEST(NearPlacement, CostsAsLittleAsTheBestOfAll) {
  std::mt19937 random(11);
  const auto whole = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  int num_placed = 0, num_refused = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Machine machine{2 + trial % 2, 3};
    if (trial % 5 == 0) machine = {3, 3, 80, {1, 3, 2}};
    std::vector<int> free;
    for (int node = 0; node < machine.nodes; ++node)
      free.push_back(machine.gpus_of(node));
    Split split;
    std::vector<GpusByNode> before;
    for (int task = 0, left = machine.gpus(); task < 3; ++task) {
      const int gpus = whole(0, left);
      split.push_back({gpus, gpus > 0 && whole(0, 1) > 0 ? whole(1, std::min(gpus, machine.nodes)) : 0, 0});
      left -= gpus;
      before.emplace_back(free.size());
      for (std::size_t node = 0; node < free.size(); ++node) {
        before.back()[node] = whole(0, free[node]);
        free[node] -= before.back()[node];
      }
    }
    const Spread spread = trial % 4 == 0 ? Spread::spread : Spread::packed;
    const std::optional<std::vector<GpusByNode>> found = place_near(split, machine, before, spread);
    const EveryWay every(split, machine, before, spread);
    ASSERT_EQ(found.has_value(), every.best().has_value()) << trial;
    if (found) {
      EXPECT_TRUE(placement_cost(split, machine, before, *found, spread) == *every.best()) << trial;
    }
    ++(found ? num_placed : num_refused);
  }
  EXPECT_GT(num_placed, 200);
  EXPECT_GT(num_refused, 20);
}

TEST(NearPlacement, TasksThatKeepTheirNumbersStay) {
  const std::vector<GpusByNode> before{{1, 1}, {1, 0}, {0, 0}};
  const auto found = place_near({{2, 0, 0}, {1, 0, 0}, {1, 0, 0}}, {2, 2}, before);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (std::vector<GpusByNode>{{1, 1}, {1, 0}, {0, 1}}));
}

TEST(NearPlacement, IsQuickOnALargeMachine) {
  Split split;
  for (int task = 0; task < 64; ++task)
    split.push_back({60, 8, 0});
  const Machine machine{512, 8};
  const auto found = place_near(split, machine, std::vector<GpusByNode>(64, GpusByNode(512)));
  ASSERT_TRUE(found);
  for (const GpusByNode& gpus : *found)
    EXPECT_EQ(std::accumulate(gpus.begin(), gpus.end(), 0), 60);
}

}  // namespace
}  // namespace multicard
