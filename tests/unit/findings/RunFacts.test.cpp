#include "findings/RunFacts.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "results/MeasuredSteps.hpp"
#include "results/RankRecord.hpp"

namespace multicard {
namespace {

/// Two ranks and eight steps: `step` 4 s on rank 0 and 5 s on rank 1; the rest as it is asked for, [rank][step].
RunData run_with(const std::map<std::string, std::vector<double>>& times = {}) {
  RunData run;
  run.ranks = 2;
  run.num_steps = 8;
  std::vector<double> step(8, 4);
  step.resize(16, 5);
  run.times["step"] = {2, 8, step};
  for (const auto& [column, values] : times)
    run.times[column] = {2, 8, values};
  run.counts["samples"] = {2, 8, std::vector<std::int64_t>(16, 10)};
  return run;
}

RunFacts facts_of(const RunData& run) {
  return multicard::facts_of(run, measured_steps(run));
}

TEST(RunFacts, RanksAreComparedByTheirOwnTimes) {
  const RunFacts facts = facts_of(run_with({{"reduce_wait", {2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1}}}));

  EXPECT_EQ(facts.num_steps, 8);
  ASSERT_EQ(facts.ranks.size(), 2U);
  EXPECT_DOUBLE_EQ(facts.ranks[0].slowness.value, 0.5);
  EXPECT_DOUBLE_EQ(facts.ranks[1].slowness.value, 2);
  EXPECT_TRUE(std::isnan(facts.ranks[1].core_wait));
}

TEST(RunFacts, OnlyWhatAllRanksWaitIsExposed) {
  // Step by step another rank is late: the least waits are 1, 0.5, 1, 0.5, …: 6 s of 36 s for each of two ranks.
  const RunFacts facts = facts_of(run_with({{"reduce_wait", {3, 0.5, 3, 0.5, 3, 0.5, 3, 0.5, 1, 2, 1, 2, 1, 2, 1, 2}},
                                            {"data_wait", std::vector<double>(16, 0.9)}}));

  EXPECT_DOUBLE_EQ(facts.exposed, 12.0 / 72);
  EXPECT_DOUBLE_EQ(facts.data_wait, 0.2);
}

TEST(RunFacts, StagesOfAllRanksAreAdded) {
  RankTable stages;
  stages.rules = {{"count", Merge::total}, {"bytes", Merge::total}, {"seconds", Merge::total}};
  stages.rows[{"read"}] = {{"count", 8}, {"bytes", 1000}, {"seconds", 2}};
  RunData run = run_with();
  run.summary.tables["input/stages"] = table_of_ranks({{0, stages}, {1, stages}});
  run.summary.text["deck"] = "parallel:\n  strategy: ddp\n";

  const RunFacts facts = facts_of(run);

  EXPECT_DOUBLE_EQ(facts.loading.read_s, 4);
  EXPECT_DOUBLE_EQ(facts.loading.read_bytes, 2000);
  EXPECT_DOUBLE_EQ(facts.loading.transform_s, 0);
  EXPECT_DOUBLE_EQ(facts.loading.read_rows, 320);  // under ddp both ranks read all 160
  EXPECT_EQ(facts.setting("parallel.strategy"), "ddp");
  EXPECT_EQ(facts.setting("parallel.overlap"), "");
}

TEST(RunFacts, AllReducesAreThoseOfAStepAndOfOneRank) {
  RunData run = run_with();
  run.communication["all_reduce"] = {{80, 8000, 0, 1, 1, 0}, {80, 8000, 0, 1, 1, 0}};

  const RunFacts facts = facts_of(run);

  EXPECT_DOUBLE_EQ(facts.all_reduce.calls_per_step, 10);
  EXPECT_DOUBLE_EQ(facts.all_reduce.bytes_per_call, 100);
}

TEST(RunFacts, GpusAreIdleWhereNeitherKernelsNorDataAreTheReason) {
  RunData run = run_with({{"data_wait", std::vector<double>(16, 0.9)}});
  run.resources["interval_s"] = {2, 1, {1, 1}};
  run.resources["gpu_busy"] = {2, 1, {0.5, 0.7}};
  run.resources["gpu_throttle_reasons"] = {2, 1, {0, 0x20}};
  run.resources["core_wait_s"] = {2, 1, {0.25, 0}};

  const RunFacts facts = facts_of(run);

  EXPECT_NEAR(facts.gpu_gaps, 0.4 - 0.2, 1e-12);
  EXPECT_DOUBLE_EQ(facts.ranks[0].core_wait, 0.25);
  EXPECT_DOUBLE_EQ(facts.ranks[1].throttled, 1);
}

TEST(RunFacts, UpdatesCountOnceTheLossScaleIsFound) {
  RunData run = run_with();
  run.summary.metrics["skipped"] = {{1, 1, 1, 0, 0, 1, 0, 0}, {0, 1, 2, 3, 4, 5, 6, 7}};

  const RunFacts facts = facts_of(run);

  EXPECT_EQ(facts.num_updates, 5);
  EXPECT_EQ(facts.num_skipped, 1);
}

TEST(RunFacts, MemoryIsThatOfTheFullestRankAndTheDevice) {
  RunData run = run_with();
  run.memory["device_peak_bytes"] = {1000, 3000};
  run.summary.integers = {{"device_memory_bytes", 8000}, {"global_batch", 64}, {"micro_batch", 8}};

  const RunFacts facts = facts_of(run);

  EXPECT_DOUBLE_EQ(facts.device_peak_bytes, 3000);
  EXPECT_DOUBLE_EQ(facts.device_bytes, 8000);
  EXPECT_DOUBLE_EQ(facts.rows_per_rank, 32);
  EXPECT_DOUBLE_EQ(facts.rows_at_once, 8);
}

TEST(RunFacts, WhatWasNotRecordedIsUnknown) {
  const RunFacts facts = facts_of(run_with());

  EXPECT_TRUE(std::isnan(facts.data_wait));
  EXPECT_TRUE(std::isnan(facts.exposed));
  EXPECT_TRUE(std::isnan(facts.loading.read_s));
  EXPECT_TRUE(std::isnan(facts.all_reduce.bytes_per_call));
  EXPECT_TRUE(std::isnan(facts.gpu_gaps));
  EXPECT_TRUE(std::isnan(facts.device_bytes));
  EXPECT_EQ(facts.num_updates, 0);
  EXPECT_EQ(multicard::facts_of(RunData{}, {}).num_steps, 0);
}

}  // namespace
}  // namespace multicard
