#include "scheduling/model/TaskRates.hpp"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "scheduling/model/StepTimeModel.hpp"

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

/// A task of 4 MB gradients on two nodes with 2 ranks, whose links are known: 2 s between nodes.
TaskRates on_two_nodes() {
  std::vector<std::optional<double>> links(static_cast<std::size_t>(StepTerm::count));
  for (std::size_t term = static_cast<std::size_t>(StepTerm::local_latency);
       term <= static_cast<std::size_t>(StepTerm::global_step); ++term)
    links[term] = 0;
  links[static_cast<std::size_t>(StepTerm::local_volume)] = 1e-10;
  links[static_cast<std::size_t>(StepTerm::global_volume)] = 2 / 4e6;
  TaskRates rates(64, Machine{2, 2}, links);
  rates.set_volume(4e6);
  return rates;
}

double seconds_on(const LearntRates& learnt, int ranks, int nodes) {
  for (const RateRow& row : learnt.rates.rows())
    if (row.gpus == ranks && row.nodes == nodes) return 1 / row.rate;
  return 0;
}

TEST(TaskRates, PredictOtherNodesFromTheLinks) {
  TaskRates rates = on_two_nodes();
  rates.run_on({2});
  rates.add(NodeCounts{2}, std::vector<double>(8, 0.5));
  const LearntRates learnt = rates.on({1, 2, 3, 4});
  EXPECT_NEAR(seconds_on(learnt, 2, 1), 0.5, 1e-9);
  EXPECT_NEAR(seconds_on(learnt, 2, 2), 2.5, 0.05);
  EXPECT_FALSE(learnt.unproven.contains({2, 2})) << "as many ranks: only the links differ";
  EXPECT_TRUE(learnt.unproven.contains({1, 1}));
  EXPECT_EQ(seconds_on(learnt, 1, 2), 0);
  EXPECT_EQ(seconds_on(learnt, 3, 1), 0);
  EXPECT_GT(seconds_on(learnt, 3, 2), 0);
}

TEST(TaskRates, KeepMeasurementsByPlacement) {
  TaskRates rates = on_two_nodes();
  for (const auto& [counts, step_s] :
       {std::pair{NodeCounts{2}, 0.5}, {NodeCounts{1, 1}, 3.0}, {NodeCounts{2, 1}, 2.0}}) {
    rates.run_on(counts);
    rates.add(counts, std::vector<double>(8, step_s));
  }
  EXPECT_EQ(rates.has_run_on(), (std::set<int>{2, 3}));
  const LearntRates learnt = rates.on({2, 3});
  EXPECT_NEAR(seconds_on(learnt, 2, 1), 0.5, 1e-9);
  EXPECT_NEAR(seconds_on(learnt, 2, 2), 3.0, 1e-9);
  EXPECT_NEAR(seconds_on(learnt, 3, 2), 2.0, 1e-9);
  EXPECT_EQ(rates.measured(normalised_counts({1, 2})), 2.0) << "1+2 is 2+1";
}

}  // namespace
}  // namespace multicard
