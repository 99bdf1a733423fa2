#include "postproc/reduce/Reduce.hpp"

#include <gtest/gtest.h>

#include "SyntheticStudy.hpp"
#include "base/Error.hpp"
#include "base/Quantiles.hpp"
#include "postproc/reduce/ReduceParts.hpp"
#include "results/MeasuredSteps.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

/// A run of `ranks` ranks: column name to [rank][step].
RunData run_with(int ranks, std::size_t steps, const std::map<std::string, std::vector<double>>& times,
                 const std::vector<std::int64_t>& samples) {
  RunData run;
  run.summary.name = "main";
  run.summary.text["task"] = "image";
  run.ranks = ranks;
  run.num_steps = steps;
  for (const auto& [column, values] : times)
    run.times[column] = {static_cast<std::size_t>(ranks), steps, values};
  run.counts["samples"] = {static_cast<std::size_t>(ranks), steps, samples};
  return run;
}

TEST(Reduce, RateIsRowsOfAllRanksOverTheSlowestRanksTime) {
  // Steps of rank 0: 1 s, 2 s, 4 s; of rank 1: 2 s, 1 s, 5 s. Rows 10 and 30 each step.
  // Rates: 40/2 = 20, 40/2 = 20, 40/5 = 8; median 20. Slowest: 2, 2, 5; median 2.
  const RunData run = run_with(2, 3, {{"step", {1, 2, 4, 2, 1, 5}}}, {10, 10, 10, 30, 30, 30});

  const RunReport report = reduce_run(run);

  EXPECT_DOUBLE_EQ(report.rate.value, 20);
  EXPECT_DOUBLE_EQ(report.step_time.value, 2);
  EXPECT_FALSE(report.rate.interval);  // 3 steps are too few
  EXPECT_EQ(report.unit, "images");
  EXPECT_EQ(report.num_measured, 3);
}

TEST(Reduce, RateIsThatOfTheTableThatClosesTheRun) {
  const test::ScratchFolder folder;
  test::SyntheticRun run;
  run.ranks = 3;
  run.slow_rank = 1;
  run.slow_factor = 1.3;
  test::write_run(folder / "results.h5", run);

  const RunReport report = reduce_run(ResultsFile::open(folder / "results.h5").run("main"));
  const MeasuredSteps steps = measure_steps(test::summary_of(run), test::rows_of(run), multicard::test::world());

  EXPECT_DOUBLE_EQ(report.rate.value, median(steps.rates));
  EXPECT_DOUBLE_EQ(report.step_time.value, median(steps.seconds));
  EXPECT_NEAR(100 * report.data_wait_share, steps.percent(Phase::data_wait), 1e-9);
  EXPECT_EQ(report.num_measured, static_cast<std::int64_t>(steps.rates.size()));
}

TEST(Reduce, SharesAreSumsOverRanksAndSteps) {
  // reduce_wait 1 + 0 + 3 + 0 = 4 of step 2 + 2 + 4 + 2 = 10; data_wait 1 of 10. Mean step 2.5.
  const RunData run = run_with(
      2, 2, {{"step", {2, 2, 4, 2}}, {"reduce_wait", {1, 0, 3, 0}}, {"data_wait", {0, 1, 0, 0}}}, {1, 1, 1, 1});

  const RunReport report = reduce_run(run);

  EXPECT_DOUBLE_EQ(report.exposed_share, 0.4);
  EXPECT_DOUBLE_EQ(report.data_wait_share, 0.1);
  EXPECT_DOUBLE_EQ(report.mean_step, 2.5);
  EXPECT_DOUBLE_EQ(report.phase(Phase::reduce_wait), 1);
}

TEST(Reduce, WarmUpAndStepsWithoutAllRanksDoNotCount) {
  // 8 steps, numbered from 100; skip 2; a second segment starts at step 104: 102, 103 and 106, 107 remain; in 107 rank
  // 1 is absent.
  const double gone = absent_step().step;
  RunData run =
      run_with(2, 8, {{"step", {9, 9, 1, 1, 9, 9, 3, 1, 9, 9, 1, 1, 9, 9, 3, gone}}}, std::vector<std::int64_t>(16, 1));
  run.first_step = 100;
  run.summary.skip_steps = 2;
  run.summary.segments = {{100, 2}, {104, 2}};

  EXPECT_EQ(measured_steps(run), (std::vector<std::size_t>{2, 3, 6}));
  EXPECT_DOUBLE_EQ(reduce_run(run).step_time.value, 1);  // of 1, 1, 3
}

TEST(Reduce, OwnTimeLeavesOutWaitingAndTheSpreadIsItsRatio) {
  // Own times: rank 0 always 4 - 2 = 2, rank 1 always 4 - 1 = 3. Spread 3/2.
  const std::vector<double> wait{2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1};
  const RunData run =
      run_with(2, 6, {{"step", std::vector<double>(12, 4)}, {"reduce_wait", wait}}, std::vector<std::int64_t>(12, 1));

  const RunReport report = reduce_run(run);

  EXPECT_DOUBLE_EQ(report.rank_reports[0].own.value, 2);
  EXPECT_DOUBLE_EQ(report.rank_reports[1].own.value, 3);
  EXPECT_DOUBLE_EQ(report.rank_spread, 1.5);
  EXPECT_FALSE(report.rank_reports[0].straggler);
  EXPECT_TRUE(report.rank_reports[1].straggler);
}

TEST(Reduce, AStragglerIsMoreThanFivePercentSlowerAndSignificantly) {
  const test::ScratchFolder folder;
  const auto stragglers = [&](double factor, int steps) {
    test::SyntheticRun run;
    run.ranks = 4;
    run.slow_rank = 2;
    run.slow_factor = factor;
    run.num_steps = steps;
    test::write_run(folder / "results.h5", run);
    const RunReport report = reduce_run(ResultsFile::open(folder / "results.h5").run("main"));
    std::vector<std::size_t> found;
    for (std::size_t rank = 0; rank < report.rank_reports.size(); ++rank)
      if (report.rank_reports[rank].straggler) found.push_back(rank);
    return found;
  };

  EXPECT_EQ(stragglers(1.12, 40), std::vector<std::size_t>{2});
  EXPECT_TRUE(stragglers(1.03, 40).empty());
  EXPECT_TRUE(stragglers(1.12, 9).empty());  // 4 measured steps prove nothing
}

TEST(Reduce, TextIsCountedInTokens) {
  RunData run = run_with(1, 6, {{"step", std::vector<double>(6, 2)}}, std::vector<std::int64_t>(6, 4));
  run.summary.text["task"] = "llm";
  run.counts["tokens"] = {1, 6, std::vector<std::int64_t>(6, 1000)};

  const RunReport report = reduce_run(run);

  EXPECT_EQ(report.unit, "tokens");
  EXPECT_DOUBLE_EQ(report.rate.value, 500);
}

TEST(Reduce, AFailedRunKeepsItsSettingsAndItsError) {
  RunData run;
  run.summary.name = "0007";
  run.summary.status = "failed";
  run.summary.error = "out of memory";
  run.summary.integers["ranks"] = 4;
  run.summary.text["strategy"] = "dp";

  const RunReport report = reduce_run(run);

  EXPECT_FALSE(report.measured());
  EXPECT_EQ(report.ranks, 4);
  EXPECT_EQ(report.error, "out of memory");
  EXPECT_EQ(report.settings.at("strategy"), "dp");
}

TEST(Reduce, WhenARunEndedEarlyIsNoSetting) {
  RunData run;
  run.summary.status = "complete";
  const RunReport whole = reduce_run(run);
  run.summary.integers["early_stop_step"] = 120;

  const RunReport report = reduce_run(run);

  EXPECT_EQ(report.early_stop_step, 120);
  EXPECT_EQ(report.outcome(), "complete, early after step 120");
  EXPECT_EQ(report.settings, whole.settings);
  EXPECT_EQ(whole.outcome(), "complete");
}

TEST(Reduce, TheDeckShowsWeakScalingAndIsNoSetting) {
  RunData run;
  run.summary.text["deck"] = "run: {global_batch: null, batch_per_rank: 32}\n";

  const RunReport report = reduce_run(run);

  EXPECT_EQ(report.settings.at("batch_per_rank"), "32");
  EXPECT_FALSE(report.settings.contains("deck"));
  EXPECT_EQ(report.deck, "run: {global_batch: null, batch_per_rank: 32}\n");

  run.summary.text["deck"] = "run: {global_batch: 64, batch_per_rank: null}\n";
  EXPECT_FALSE(reduce_run(run).settings.contains("batch_per_rank"));
}

TEST(Reduce, TransfersAreBytesAStepAndRank) {
  // 600 and 200 bytes in 4 steps: mean 400, 100 a step.
  RunData run = run_with(2, 4, {{"step", std::vector<double>(8, 1)}}, std::vector<std::int64_t>(8, 1));
  run.transfers["host_to_device"] = {600, 200};
  run.communication["all_reduce"] = {{8, 100, 150, 1, 0}, {8, 120, 180, 3, 1}};

  const RunReport report = reduce_run(run);

  EXPECT_DOUBLE_EQ(report.transfers.at("host_to_device"), 100);
  EXPECT_DOUBLE_EQ(report.communication.at("all_reduce").bus_bytes, 180);
  EXPECT_DOUBLE_EQ(report.communication.at("all_reduce").seconds_total, 2);
}

TEST(Reduce, AnEvaluationThatContradictsItselfIsADataError) {
  RunSummary summary;
  Table& classes = summary.tables["evaluation/classes"];
  classes.text["name"] = {"cat"};
  EXPECT_THROW(reduce_evaluation(summary), DataError);  // no samples

  for (const char* name : {"samples", "correct", "predicted"})
    classes.integers[name] = {1};
  for (const char* name : {"precision", "recall", "f1"})
    classes.reals[name] = {1};
  EXPECT_EQ(reduce_evaluation(summary)->samples, 1);

  Table& confusion = summary.tables["evaluation/confusion"];
  confusion.integers = {{"actual", {0}}, {"predicted", {1}}, {"count", {1}}};
  EXPECT_THROW(reduce_evaluation(summary), DataError);  // there is no class 1
}

}  // namespace
}  // namespace multicard::post
