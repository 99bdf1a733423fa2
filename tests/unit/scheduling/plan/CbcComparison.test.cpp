// Splits of random and of published tables against those of another solver.

#include <cmath>

#include <gtest/gtest.h>

#include "scheduling/rates/RateTableFile.hpp"
#include "scheduling/solve/StaticSplit.hpp"
#include "unit/scheduling/plan/CbcSplit.hpp"
#include "unit/scheduling/plan/PublishedTables.hpp"
#include "unit/scheduling/solve/Mixes.hpp"

namespace multicard {
namespace {

constexpr int kMachines[] = {8, 12, 16, 24, 32, 48, 64};

void expect_equal_to_cbc(const AllocationProblem& problem, int mix) {
  const std::optional<Split> own = best_static_split(problem), theirs = test::cbc_split(problem);
  ASSERT_EQ(own.has_value(), theirs.has_value()) << mix << ", " << static_cast<int>(problem.objective);
  if (!own) return;
  const double value = value_of(problem, *own), expected = value_of(problem, *theirs);
  EXPECT_NEAR(value, expected, 1e-9 * std::abs(expected)) << mix << ", " << static_cast<int>(problem.objective);
}

TEST(CbcComparison, HasEqualValuesForRandomTables) {
  if (!test::has_cbc()) GTEST_SKIP() << "COIN-OR CBC is not installed (coinor-libcbc-dev)";
  std::mt19937 random(21);
  for (int mix = 0; mix < 600; ++mix) {
    const MixShape shape{.most_tasks = 8, .most_rows = 12, .machine = {1, kMachines[mix % 7]}};
    for (const Objective objective : kObjectives)
      expect_equal_to_cbc(random_mix(random, shape, objective), mix);
  }
}

TEST(CbcComparison, HasEqualValuesForPublishedTables) {
  if (!test::has_cbc()) GTEST_SKIP() << "COIN-OR CBC is not installed (coinor-libcbc-dev)";
  std::mt19937 random(22);
  const std::vector<RateTable> tables = test::published_tables();
  for (int mix = 0; mix < 500; ++mix)
    for (const Objective objective : kObjectives)
      expect_equal_to_cbc(test::published_mix(random, tables, 2 + mix % 7, kMachines[mix % 7], objective), mix);
}

}  // namespace
}  // namespace multicard
