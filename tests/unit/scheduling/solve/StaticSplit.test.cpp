// Splits against trying everything.

#include "scheduling/solve/StaticSplit.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/solve/Mixes.hpp"

namespace multicard {
namespace {

/// Compares the solver with EverySplit on `count` mixes.
void expect_optimal(const MixShape& shape, int count, unsigned seed) {
  std::mt19937 random(seed);
  for (int mix = 0; mix < count; ++mix)
    for (const Objective objective : kObjectives) {
      const AllocationProblem problem = random_mix(random, shape, objective);
      const std::optional<std::vector<double>> expected = EverySplit(problem).best();
      const std::optional<Split> split = best_static_split(problem);
      ASSERT_EQ(split.has_value(), expected.has_value()) << mix << ", " << static_cast<int>(objective);
      if (!split) continue;
      const std::vector<double> found = comparable(problem, *split);
      ASSERT_TRUE(can_place(*split, problem.machine)) << mix << ", " << static_cast<int>(objective);
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], (*expected)[i], 1e-12 * (1 + std::abs((*expected)[i])))
            << mix << ", " << static_cast<int>(objective) << ", level " << i;
    }
}

std::optional<Split> equal(const AllocationProblem& problem) {
  SearchBudget budget;
  return equal_split(problem, budget);
}

RateTable table(std::vector<RateRow> rows) {
  return RateTable(std::move(rows));
}

TEST(StaticSplit, EqualsTheBestOfAllSplitsOnThousandsOfMixes) {
  expect_optimal({.most_tasks = 5, .most_rows = 6, .machine = {1, 12}}, 1000, 1);
}

TEST(StaticSplit, IsLexicographicallyBestWhereManyCostsAreEqual) {
  expect_optimal({.most_tasks = 6, .most_rows = 4, .machine = {1, 8}, .has_whole_rates = true}, 1000, 2);
}

TEST(StaticSplit, EqualsTheBestOfAllSplitsThatCanBePlacedOnNodes) {
  expect_optimal({.most_tasks = 4, .most_rows = 5, .machine = {3, 4}, .has_nodes = true}, 500, 3);
  expect_optimal({.most_tasks = 5, .most_rows = 4, .machine = {4, 2}, .has_nodes = true, .has_whole_rates = true}, 500,
                 4);
}

TEST(StaticSplit, UsesEveryShapeOfTable) {
  // A cliff from 8 to 16 GPUs, at which one more GPU never pays.
  const RateTable cliff = table({{1, 0, 0.02, 0}, {8, 0, 0.1, 0}, {16, 0, 0.9, 0}});
  const RateTable flat = table({{1, 0, 1.0, 0}, {8, 0, 1.1, 0}});
  AllocationProblem problem{Objective::makespan, {1, 17}, {{"llm", cliff, 90, 1}, {"vision", flat, 100, 1}}};

  const std::optional<Split> split = best_static_split(problem);

  ASSERT_TRUE(split);
  EXPECT_EQ((*split)[0].gpus, 16);
  EXPECT_EQ((*split)[1].gpus, 1);
}

TEST(StaticSplit, SaysWhereThereIsNone) {
  const RateTable one = table({{4, 0, 1.0, 0}});
  AllocationProblem problem{Objective::makespan, {1, 7}, {{"a", one, 1, 1}, {"b", one, 1, 1}}};
  EXPECT_FALSE(best_static_split(problem));
  problem.objective = Objective::weighted_throughput;  // in which a task may get none
  ASSERT_TRUE(best_static_split(problem));
  EXPECT_EQ(value_of(problem, *best_static_split(problem)), 1.0);
  problem.tasks[1].table = table({{8, 0, 1.0, 0}});
  EXPECT_TRUE(best_static_split(problem));
  problem.objective = Objective::fairness;
  EXPECT_FALSE(best_static_split(problem));
}

TEST(EqualSplit, GivesTheRemainderToTheFirstTasksAndUsesTheLargestNumberBelow) {
  const RateTable steps = table({{1, 0, 1.0, 0}, {2, 0, 3.0, 0}, {3, 0, 2.0, 0}, {8, 0, 9.0, 0}});
  AllocationProblem problem{Objective::makespan, {1, 8}, {{"a", steps, 1, 1}, {"b", steps, 1, 1}, {"c", steps, 1, 1}}};

  const std::optional<Split> split = equal(problem);

  ASSERT_TRUE(split);
  EXPECT_EQ((*split)[0], (Choice{3, 0, 2.0}));
  EXPECT_EQ((*split)[1], (Choice{3, 0, 2.0}));
  EXPECT_EQ((*split)[2], (Choice{2, 0, 3.0}));
  problem.tasks[1].table = table({{4, 0, 1.0, 0}});
  EXPECT_FALSE(equal(problem));
}

TEST(EqualSplit, IsPlacedOnNodes) {
  // 3 + 3 GPUs on one node each do not fit into nodes of 4, 2, unless one of them is spread.
  const RateTable on_one = table({{3, 1, 2.0, 0}});
  AllocationProblem problem{Objective::makespan, {3, 2}, {{"a", on_one, 1, 1}, {"b", on_one, 1, 1}}};
  EXPECT_FALSE(equal(problem));
  problem.tasks[0].table = problem.tasks[1].table = table({{3, 2, 2.0, 0}});
  EXPECT_TRUE(equal(problem));
}

TEST(Objectives, AreAsDefined) {
  const RateTable table_a = table({{1, 0, 2.0, 0}, {4, 0, 5.0, 0}}), table_b = table({{1, 0, 1.0, 0}, {3, 0, 4.0, 0}});
  AllocationProblem problem{Objective::makespan, {1, 4}, {{"a", table_a, 10, 1}, {"b", table_b, 8, 3}}};
  const Split split{{1, 0, 2.0}, {3, 0, 4.0}};

  EXPECT_DOUBLE_EQ(value_of(problem, split), 5.0);
  problem.objective = Objective::weighted_throughput;
  EXPECT_DOUBLE_EQ(value_of(problem, split), 2.0 + 3 * 4.0);
  problem.objective = Objective::fairness;
  EXPECT_DOUBLE_EQ(value_of(problem, split), 4.0 / (3 * 4.0));
  problem.objective = Objective::average_completion;
  EXPECT_DOUBLE_EQ(value_of(problem, split), (5.0 + 3 * 2.0) / 4);
}

}  // namespace
}  // namespace multicard
