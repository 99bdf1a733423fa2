// What the report may say of numbers, and what it must not.

#include <gtest/gtest.h>

#include "postproc/figures/Figures.hpp"
#include "postproc/study/Answer.hpp"
#include "postproc/study/Rules.hpp"
#include "postproc/study/RunningMedian.hpp"
#include "postproc/study/ShareAnswer.hpp"
#include "postproc/study/StudyFindings.hpp"
#include "postproc/study/TrainingAnswer.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A run whose rate is known within a factor, or (0) without an interval.
RunReport known_within(double factor, int ranks, double rate) {
  RunReport run = run_of({}, ranks, rate);
  run.rate.interval = factor > 1 ? std::optional(Interval{rate / factor, rate * factor}) : std::nullopt;
  if (factor <= 1) run.rate.basis = Basis::none;
  return run;
}

Figure figure(const Study& study, const std::string& id) {
  for (const Figure& one : plan_figures(study))
    if (one.id == id) return one;
  return {};
}

TEST(Claims, AnIntervalAroundOneIsNoMeasurableSpeedup) {
  const Study study = study_of({known_within(1.5, 1, 100), known_within(1.5, 2, 120)});

  const Finding speedup = finding_of(answer(study), "speedup");

  EXPECT_TRUE(has(speedup.text, "No measurable speedup from 1 rank to 2 ranks (0.68–2.13 times the rate"))
      << speedup.text;
  EXPECT_FALSE(speedup.evidence.all().contains("efficiency"));
  EXPECT_TRUE(
      has(figure(study, "speedup").title, "No measurable speedup on 2 ranks over 1 (0.68–2.13 times the rate)"));
}

TEST(Claims, WithoutAnIntervalThereIsNoSpeedupAndNoAdviceOnRanks) {
  const Study study = study_of({known_within(0, 1, 100), known_within(0, 2, 537)});

  const Finding speedup = finding_of(answer(study), "speedup");

  EXPECT_TRUE(has(speedup.text, "Too few values for a speedup")) << speedup.text;
  EXPECT_FALSE(speedup.evidence.all().contains("ratio"));
  EXPECT_TRUE(has(figure(study, "speedup").title, "Too few values for a speedup on 2 ranks"));
  EXPECT_TRUE(has(figure(study, "efficiency").title, "Too few values for an efficiency on 2 ranks"));
  EXPECT_TRUE(advice_of(study).empty());
}

TEST(Claims, AScalingStudyAnswersWithTheSpeedup) {
  const Study study = study_of({run_of({}, 1, 100), run_of({}, 2, 180)});

  const Findings sentences = answer(study);

  EXPECT_EQ(sentences[0].id, "speedup");
  EXPECT_EQ(sentences[0].text,
            "2 ranks are 1.80 times as fast as 1 (95 % interval 1.75–1.85, strong scaling): efficiency 0.9 "
            "(0.875–0.926).");
  EXPECT_DOUBLE_EQ(sentences[0].evidence.all().at("ratio"), 1.8);
  EXPECT_DOUBLE_EQ(sentences[0].evidence.all().at("efficiency"), 0.9);
}

TEST(Claims, MoreRanksThatAreSlowerAreSaidToBe) {
  const Study study = study_of({run_of({}, 1, 100), run_of({}, 2, 50)});

  const Finding speedup = answer(study)[0];

  EXPECT_DOUBLE_EQ(speedup.evidence.all().at("ratio"), 0.5);
  EXPECT_DOUBLE_EQ(speedup.evidence.all().at("time_ratio"), 2);
  EXPECT_TRUE(has(figure(study, "speedup").title, "Takes 2.00 times as long on 2 ranks as on 1 (1.9"));
  EXPECT_TRUE(has(speedup.text, "2 ranks take 2.00 times as long as 1 (95 % interval 1.94–2.06, "));
}

TEST(Claims, TheFastestIsClaimedOnlyWhereTheRunnerUpIsMeasurablySlower) {
  const Study close = study_of({run_of({{"strategy", "dp"}}, 2, 100), run_of({{"strategy", "ddp"}}, 2, 102)});
  const Study clear = study_of({run_of({{"strategy", "dp"}}, 2, 100), run_of({{"strategy", "ddp"}}, 2, 150)});

  EXPECT_TRUE(has(answer(close)[0].text, "No clear winner among 2 configurations"));
  EXPECT_TRUE(has(figure(close, "comparison").title, "No clear winner on 2 ranks: ddp and dp"));
  EXPECT_TRUE(has(answer(clear)[0].text, "The fastest of 2 configurations is ddp on 2 ranks"));
}

TEST(Claims, WhatDidNotCompleteIsInTheTitle) {
  RunReport failed = run_of({{"precision", "tf32"}}, 2, 0);
  failed.status = "failed";
  failed.rate = {};
  const auto title = [&](double rate) {
    return answer(
        study_of({failed, run_of({{"precision", "fp32"}}, 2, 100), run_of({{"precision", "fp16"}}, 2, rate)}))[0];
  };

  EXPECT_TRUE(has(title(102).text, "No clear winner among the 2 of 3 configurations that completed: "));
  EXPECT_TRUE(has(title(150).text, "The fastest of the 2 of 3 configurations that completed is fp16 on 2 ranks"));
  EXPECT_DOUBLE_EQ(title(150).evidence.all().at("configurations"), 2);
  EXPECT_DOUBLE_EQ(title(150).evidence.all().at("all_configurations"), 3);
}

TEST(Claims, OneThatCompletedIsNotTheFastest) {
  RunReport failed = run_of({{"strategy", "dp"}}, 2, 0);
  failed.status = "failed";
  failed.rate = {};
  const Study study = study_of({failed, run_of({{"strategy", "ddp"}}, 2, 150)});
  const Study apart = study_of({run_of({{"strategy", "dp"}}, 1, 100), run_of({{"strategy", "ddp"}}, 2, 150)});

  EXPECT_TRUE(has(answer(study)[0].text, "Only one of 2 configurations completed, ddp on 2 ranks: "));
  EXPECT_EQ(figure(study, "comparison").title, "Only ddp completed on 2 ranks");
  EXPECT_EQ(figure(apart, "comparison").title, "ddp alone was run on 2 ranks") << "dp completed, on 1 rank";
}

TEST(Claims, TwoMeasuredStepsAdviseNothing) {
  std::vector<RunReport> runs;
  for (const int repeat : {0, 1, 2})
    for (const auto& [precision, rate] : {std::pair{"fp32", 100.0}, {"bf16", 200.0}}) {
      runs.push_back(run_of({{"precision", precision}}, 2, rate + repeat, repeat));
      runs.back().num_measured = 2;
    }

  EXPECT_TRUE(advice_of(study_of(runs)).empty());

  for (RunReport& run : runs)
    run.num_measured = 3;
  EXPECT_FALSE(advice_of(study_of(runs)).empty());
}

TEST(Claims, TheLargestPartOfAStepIsTheBottleneck) {
  RunReport run = run_of({}, 2, 100);
  run.phases = {0, 0, 0.3 * run.mean_step, 0.513 * run.mean_step, 0.143 * run.mean_step, 0, 0};
  run.exposed_share = 0.143;
  run.phases[static_cast<std::size_t>(Phase::update)] = 0;
  const Study study = study_of({run});

  const Finding limit = limit_finding(study, study.cells[0]);

  EXPECT_EQ(limit.text,
            "A step on 2 ranks (median 640 ms) is mostly computing (81.3 %); 14.3 % is waiting for collectives.");
  EXPECT_DOUBLE_EQ(limit.evidence.all().at("step_ms"), 1000 * run.step_time.value) << "the median of the table";
}

TEST(Claims, ATrainingAnswersWithWhatItReached) {
  RunReport run = run_of({}, 2, 500);
  run.num_steps = 313;
  run.metrics["eval_accuracy"] = {{0.1, 0.8398}, {0, 313}};
  run.epoch_seconds["train"] = 49.2;

  const Finding training = answer(study_of({run}))[0];

  EXPECT_EQ(training.id, "training");
  EXPECT_EQ(training.text, "Test accuracy 0.8398 after 313 steps in 49.2 s of training, 500 rows/s on 2 ranks.");
}

TEST(Claims, ATrainingWithoutAMeasuredStepHasAResultAllTheSame) {
  RunReport run = run_of({}, 2, 500);
  run.rate = {};
  run.num_measured = 0;
  run.num_steps = 5;
  run.metrics["eval_accuracy"] = {{0.25}, {5}};

  const Findings sentences = answer(study_of({run}));

  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_EQ(sentences[0].text, "Test accuracy 0.25 after 5 steps on 2 ranks.");
}

TEST(Claims, ATuningAnswersWithItsLossBeforeAndAfter) {
  RunReport run = run_of({}, 2, 500);
  run.num_steps = 40;
  run.tuning = TuningReport{};
  run.tuning->loss = {1.19, 0.83};

  EXPECT_EQ(answer(study_of({run}))[0].text, "Test loss from 1.19 to 0.83 after 40 steps, 500 rows/s on 2 ranks.");
}

TEST(Claims, AStoppedTrainingIsSaidToBe) {
  RunReport run = run_of({}, 2, 500);
  run.status = "stopped";
  run.metrics["eval_loss"] = {{0.5}, {20}};

  EXPECT_TRUE(has(answer(study_of({run}))[0].text,
                  "after 20 steps, 500 rows/s on 2 ranks (the run was stopped after 30 steps)"));
}

/// A loss that falls from 2 to 1 with outliers at both ends.
RunReport falling(std::size_t steps) {
  RunReport run = run_of({}, 1, 100);
  MetricSeries& loss = run.metrics["train_loss"];
  for (std::size_t i = 0; i < steps; ++i) {
    loss.values.push_back(2 - static_cast<double>(i) / static_cast<double>(steps - 1));
    loss.steps.push_back(static_cast<std::int64_t>(i));
  }
  loss.values.front() = 9;
  loss.values.back() = 7;
  return run;
}

TEST(Claims, TheLossInTheTitleIsTheDrawnMedian) {
  const Figure loss = figure(study_of({falling(200)}), "train_loss");
  const auto& rows = loss.data.rows;

  EXPECT_DOUBLE_EQ(std::get<double>(rows.front()[2]), loss.evidence.all().at("first"));
  EXPECT_DOUBLE_EQ(std::get<double>(rows.back()[2]), loss.evidence.all().at("last"));
  EXPECT_DOUBLE_EQ(std::get<double>(rows.back()[1]), 199) << "the last step is drawn";
  EXPECT_EQ(loss.title, "Training loss falls from 1.99 to 1.01 in 200 steps");
}

TEST(Claims, FewerThanTwentyLossesAreNoCurve) {
  EXPECT_EQ(figure(study_of({falling(19)}), "train_loss").id, "");
  EXPECT_EQ(figure(study_of({falling(20)}), "train_loss").id, "train_loss");
}

TEST(Claims, ShortCurvesAreLeftOutWhereThereAreLongOnes) {
  RunReport shorter = falling(5), longer = falling(60);
  shorter.ranks = 2;

  EXPECT_TRUE(has(figure(study_of({shorter, longer}), "train_loss").title, "in 60 steps"));
}

TEST(Claims, ScoresAfterOtherNumbersOfStepsAreNotPooled) {
  RunReport early = run_of({}, 1, 100, 0), late = run_of({}, 1, 100, 1);
  early.metrics["eval_accuracy"] = {{0.25}, {12}};
  late.metrics["eval_accuracy"] = {{0.38}, {32}};

  EXPECT_FALSE(study_of({early, late}).cells[0].test_accuracy.known());
}

TEST(Claims, AMovedTaskHasNoSpeedup) {
  RunReport one = run_of({}, 1, 100), moved = run_of({}, 2, 150);
  moved.fewest_ranks = 1;

  const Study study = study_of({one, moved});

  EXPECT_FALSE(study.cell(0, 2)->speedup.known());
  EXPECT_TRUE(finding_of(answer(study), "speedup").empty());
}

TEST(Claims, ALossThatDoesNotMoveShowsNoClearChange) {
  RunReport run = falling(60);
  for (std::size_t i = 0; i < 60; ++i)
    run.metrics["train_loss"].values[i] = i % 2 == 0 ? 2.3 : 2.4;

  EXPECT_TRUE(has(figure(study_of({run}), "train_loss").title, "Training loss shows no clear change"));
}

TEST(RunningMedian, KeepsBothEndsAndLeavesOutWhatIsNotFinite) {
  MetricSeries series;
  for (int i = 0; i < 1000; ++i) {
    series.steps.push_back(i);
    series.values.push_back(i == 500 ? NAN : i);
  }

  const auto curve = running_median(series, 5);

  EXPECT_EQ(curve.front().first, 0);
  EXPECT_EQ(curve.back().first, 999);
  EXPECT_DOUBLE_EQ(curve.back().second, 998);
  EXPECT_LT(curve.size(), 340u);
}

TEST(Claims, AMapOfDifferentWorkNamesNoWinner) {
  std::vector<RunReport> runs;
  for (const auto& [size, factor] : {std::pair{"32", 1.0}, {"64", 0.25}})
    for (const auto& [layout, rate] : {std::pair{"nchw", 1000.0}, {"nhwc", 2000.0}})
      runs.push_back(run_of({{"data.image_size", size}, {"data.layout", layout}}, 2, factor * rate));

  const Figure map = figure(study_of(runs), "heat");

  EXPECT_EQ(map.title, "Rows/s by layout and image size");
  EXPECT_TRUE(map.evidence.all().empty());
}

TEST(Claims, AMapOfOptionsNamesAClearWinner) {
  std::vector<RunReport> runs;
  for (const auto& [precision, factor] : {std::pair{"fp32", 1.0}, {"bf16", 2.0}})
    for (const auto& [layout, rate] : {std::pair{"nchw", 1000.0}, {"nhwc", 2000.0}})
      runs.push_back(run_of({{"precision", precision}, {"data.layout", layout}}, 2, factor * rate));

  const Figure map = figure(study_of(runs), "heat");
  EXPECT_EQ(map.title, "4000 rows/s at bf16, nhwc is the most");
  EXPECT_TRUE(has(map.caption, "The most is 4.00 (3.89–4.11) times the least (")) << map.caption;

  for (const auto& [precision, factor] : {std::pair{"fp32", 1.0}, {"bf16", 2.0}})
    for (const auto& [layout, rate] : {std::pair{"nchw", 1000.0}, {"nhwc", 2000.0}})
      runs.push_back(run_of({{"precision", precision}, {"data.layout", layout}}, 1, 2 * factor * rate));
  EXPECT_EQ(figure(study_of(runs), "heat").title, "4000 rows/s at bf16, nhwc is the most on 2 ranks")
      << "there are more on 1 rank";
}

TEST(Claims, FailedRunsStandAtTheSlowEndOfATimeAxis) {
  std::vector<RunReport> runs;
  for (const char* size : {"32", "64"})
    for (const char* precision : {"fp32", "tf32"}) {
      runs.push_back(run_of({{"data.image_size", size}, {"precision", precision}}, 1, 100));
      if (std::string(precision) == "tf32") {
        runs.back().status = "failed";
        runs.back().rate = {};
      }
    }
  const Figure time = figure(study_of(runs), "time-image_size");

  bool any = false;
  for (const auto& row : time.data.rows)
    if (std::get<std::string>(row[5]) == "unfinished") {
      any = true;
      EXPECT_FALSE(std::isfinite(std::get<double>(row[2]))) << "a failed run has no time";
    }
  EXPECT_TRUE(any);
}

TEST(Claims, FewStepsDoNotTellWhetherARankIsSlow) {
  RunReport run = run_of({}, 2, 100);
  run.rank_spread = 2.1;
  run.rank_reports = {{{0.21, {}, Basis::none, 3}, {}, false, {}}, {{0.1, {}, Basis::none, 3}, {}, false, {}}};

  EXPECT_EQ(figure(study_of({run}), "ranks").title, "Too few steps to tell whether a rank is slower than the others");
}

TEST(Claims, ARankThatWasSlowInOneOfThreeRunsIsNoStraggler) {
  std::vector<RunReport> runs;
  for (const int repeat : {0, 1, 2}) {
    runs.push_back(run_of({}, 2, 100, repeat));
    runs.back().rank_spread = 1.1;
    const Estimate own{0.1, Interval{0.09, 0.11}, Basis::steps, 30};
    runs.back().rank_reports = {{own, {}, repeat == 0, {}}, {own, {}, false, {}}};
  }

  EXPECT_EQ(figure(study_of(runs), "ranks").title, "No rank is measurably slower than the others");
  runs[1].rank_reports[0].straggler = true;
  EXPECT_EQ(figure(study_of(runs), "ranks").title, "Rank 0 was slower than the others in 2 of 3 runs");
}

AllocationRecord shared(double seconds, double predicted, double low, double high) {
  AllocationRecord record;
  record.intervals = {{"vision", 0, 1, 0, 40, 0, 0}, {"llm", 1, 1, 0, seconds, 0, 0}};
  record.baselines = {{"equal", 1, 1, 1, ""}, {"sequential", predicted, low, high, ""}};
  return record;
}

TEST(ShareAnswer, AGainWithinTheLimitsIsNotProven) {
  const Finding share = share_finding(shared(82.7, 128.6, 18, 5346));

  EXPECT_TRUE(has(share.text, "2 tasks took 82.7 s; a gain over one after another is not proven")) << share.text;
  EXPECT_FALSE(share.evidence.all().contains("ratio"));
}

TEST(ShareAnswer, AGainBeyondTheLimitsIsClaimedAndALossIsNot) {
  EXPECT_TRUE(has(share_finding(shared(80, 120, 110, 130)).text,
                  "Sharing paid: 2 tasks took 80 s, one after another would have taken 1.50 times as long"));
  EXPECT_TRUE(has(share_finding(shared(80, 60, 50, 70)).text, "is not proven"));
  EXPECT_TRUE(has(share_finding(shared(80, 0, 0, 0)).text, "is not known"));
  EXPECT_TRUE(share_finding({}).empty());
}

}  // namespace
}  // namespace multicard::post
