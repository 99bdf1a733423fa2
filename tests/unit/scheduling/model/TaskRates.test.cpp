#include "scheduling/model/TaskRates.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace multicard {
namespace {

const std::vector<int> kCandidates{1, 2, 3, 4, 6, 8};

std::vector<int> gpus_of(const RateTable& table) {
  std::vector<int> gpus;
  for (const RateRow& row : table.rows())
    gpus.push_back(row.gpus);
  return gpus;
}

TEST(TaskRates, KnowNothingBeforeTheFirstStep) {
  TaskRates rates(64, 4);
  rates.run_on(2);
  EXPECT_TRUE(rates.on(kCandidates).rates.rows().empty());
  EXPECT_EQ(rates.measured(2), std::nullopt);
}

TEST(TaskRates, OnOneNumberOfRanksProveOnlyThat) {
  TaskRates rates(64, 4);
  rates.run_on(2);
  rates.add(2, std::vector<double>{0.5, 0.5, 0.5});

  const LearntRates learnt = rates.on(kCandidates);

  EXPECT_EQ(rates.measured(2), 0.5);
  for (const RateRow& row : learnt.rates.rows()) {
    EXPECT_EQ(learnt.unproven.contains(row.gpus), row.gpus != 2) << row.gpus;
    EXPECT_LE(row.gpus, 4) << "a task grows step by step";
  }
}

TEST(TaskRates, OnSeveralNumbersOfRanksPredictOthers) {
  TaskRates rates(64, 8);
  for (const int ranks : {1, 2, 4}) {
    rates.run_on(ranks);
    rates.add(ranks, std::vector<double>(8, 0.1 + 0.8 / ranks));
  }

  const LearntRates learnt = rates.on(kCandidates);

  const std::vector<int> known = gpus_of(learnt.rates);
  EXPECT_NE(std::find(known.begin(), known.end(), 3), known.end());
  for (const RateRow& row : learnt.rates.rows())
    EXPECT_NEAR(1 / row.rate, 0.1 + 0.8 / row.gpus, 0.1 * (0.1 + 0.8 / row.gpus)) << row.gpus;
}

TEST(TaskRates, PutRanksOnAsFewNodesAsPossible) {
  const StepPoint at = TaskRates(64, 4).point(6);
  EXPECT_EQ(at.nodes, 2);
  EXPECT_EQ(at.max_per_node, 4);
  EXPECT_NEAR(at.rows_per_gpu, 64 / 6.0, 1e-12);
}

}  // namespace
}  // namespace multicard
