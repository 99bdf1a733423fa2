#include "scheduling/solve/HullSplit.hpp"

#include <gtest/gtest.h>

#include "scheduling/solve/SumSplit.hpp"
#include "unit/scheduling/solve/Mixes.hpp"

namespace multicard {
namespace {

TEST(HullSplit, BoundsTheBestSumFromBothSides) {
  std::mt19937 random(31);
  const MixShape shape{.most_tasks = 8, .most_rows = 20, .machine = {1, 40}};
  double sum = 0;
  int count = 0;
  for (int mix = 0; mix < 1000; ++mix) {
    const AllocationProblem problem = random_mix(random, shape, Objective::weighted_throughput);
    const std::vector<std::vector<Choice>> choices = useful_choices(problem);
    std::vector<double> prices;
    std::vector<std::vector<Offer>> offers;
    for (std::size_t task = 0; task < choices.size(); ++task) {
      prices.push_back(problem.tasks[task].weight);
      offers.push_back({Offer{}});
      for (const Choice& choice : choices[task])
        offers.back().push_back({choice.gpus, prices.back() * choice.rate});
    }
    const SumSplit exact(offers, 40);
    HullSplit hulls(choices);
    hulls.set_prices(prices);
    for (std::size_t first = 0; first < choices.size(); ++first) {
      HullSplit::Found found = hulls.best(first, 40);
      hulls.use_rest(first, 40, found);
      int gpus = 0;
      double worth = 0;
      for (std::size_t task = 0; task < choices.size(); ++task) {
        gpus += found.split[task].gpus;
        worth += prices[task] * found.split[task].rate;
      }
      ASSERT_LE(gpus, 40);
      ASSERT_NEAR(found.worth, worth, 1e-9 * worth);
      ASSERT_LE(found.worth, exact.best(first, 40) * (1 + 1e-12));
      ASSERT_GE(found.bound, exact.best(first, 40) * (1 - 1e-12));
      sum += found.worth / exact.best(first, 40);
      ++count;
    }
  }
  EXPECT_GT(sum / count, 0.95);
}

TEST(HullSplit, GivesNothingToTasksWithoutPrice) {
  const std::vector<std::vector<Choice>> choices{{{1, 0, 1.0}, {4, 0, 8.0}}, {{1, 0, 5.0}}};
  HullSplit hulls(choices);
  hulls.set_prices({1, -1});

  const HullSplit::Found found = hulls.best(0, 5);

  EXPECT_EQ(found.split[0].gpus, 4);
  EXPECT_EQ(found.split[1].gpus, 0);
  EXPECT_EQ(found.bound, 8);
}

}  // namespace
}  // namespace multicard
