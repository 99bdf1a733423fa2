#include "postproc/study/Study.hpp"

#include <gtest/gtest.h>

#include "postproc/figures/Figures.hpp"
#include "postproc/study/Answer.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/StudyFindings.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

TEST(Study, SpeedupAndEfficiencyAreAgainstTheFewestRanks) {
  // R0 = 2: S(2) = 2, S(4) = 2 * 180/100 = 3.6, E(4) = 0.9.
  const Study study = study_of({run_of({}, 4, 180), run_of({}, 2, 100)});

  ASSERT_EQ(study.configurations.size(), 1u);
  EXPECT_EQ(study.configurations[0].baseline_ranks, 2);
  EXPECT_DOUBLE_EQ(study.cell(0, 2)->speedup.value, 2);
  EXPECT_DOUBLE_EQ(study.cell(0, 2)->efficiency.value, 1);
  EXPECT_FALSE(study.cell(0, 2)->efficiency.interval);
  EXPECT_DOUBLE_EQ(study.cell(0, 4)->speedup.value, 3.6);
  EXPECT_DOUBLE_EQ(study.cell(0, 4)->efficiency.value, 0.9);
  // ln(180/176.4) = 0.020203 and ln(102/100) = 0.019803: 0.9 exp(-0.028290) = 0.87490.
  EXPECT_NEAR(study.cell(0, 4)->efficiency.interval->low, 0.87490, 1e-5);
}

TEST(Study, OneNumberOfRanksHasNoSpeedup) {
  const Study study = study_of({run_of({}, 2, 100)});

  EXPECT_FALSE(study.cell(0, 2)->speedup.known());
  EXPECT_FALSE(study.cell(0, 2)->efficiency.known());
}

TEST(Study, RepeatsAreOneCell) {
  const Study study = study_of({run_of({}, 2, 99, 0), run_of({}, 2, 101, 1), run_of({}, 2, 100, 2)});

  ASSERT_EQ(study.cells.size(), 1u);
  EXPECT_EQ(study.cells[0].num_repeats(), 3);
  EXPECT_EQ(study.cells[0].rate.basis, Basis::repeats);
  EXPECT_DOUBLE_EQ(study.cells[0].rate.value, 100);
}

TEST(Study, SettingsThatDifferAreAxesAndDeckPathsSayItAgain) {
  const Study study = study_of({run_of({{"strategy", "dp"}, {"parallel.strategy", "dp"}, {"model", "m"}}, 2, 90),
                                run_of({{"strategy", "ddp"}, {"parallel.strategy", "ddp"}, {"model", "m"}}, 2, 100)});

  ASSERT_EQ(study.axes.size(), 1u);
  EXPECT_EQ(study.axes[0].key, "parallel.strategy");
  EXPECT_EQ(study.configurations[1].label, "ddp");
}

TEST(Study, LongValuesThatDifferInTheMiddleAreTwoConfigurationsWithShortNames) {
  const std::string half(3000, 'y');
  const Study study =
      study_of({run_of({{"layout", half + "1" + half}}, 2, 90), run_of({{"layout", half + "2" + half}}, 2, 100)});

  ASSERT_EQ(study.configurations.size(), 2u);
  EXPECT_NE(study.configurations[0].label, study.configurations[1].label);
  for (const Configuration& configuration : study.configurations)
    EXPECT_LT(configuration.label.size(), 1010u);
}

TEST(Study, ARunAloneIsCalledByModelAndMethodAndTheModelByItsFoldersName) {
  const Study study = study_of({run_of({{"model", "/data/models/story-1M/"}, {"method", "lora"}}, 2, 100)});

  EXPECT_EQ(study.configurations[0].label, "story-1M, lora");
}

TEST(Study, ModelsAreCalledByTheirFoldersAndByTheirPathsWhereThoseAreCalledTheSame) {
  const auto labels = [](const std::string& one, const std::string& other) {
    const Study study = study_of({run_of({{"model.path", one}, {"model", one}}, 2, 100),
                                  run_of({{"model.path", other}, {"model", other}}, 2, 100)});
    return study.configurations[0].full_label() + " and " + study.configurations[1].full_label();
  };

  EXPECT_EQ(labels("/data/story-1M", "/data/story-3M"), "story-1M and story-3M");
  EXPECT_EQ(labels("/a/merged", "/b/merged"), "/a/merged and /b/merged");
}

TEST(Study, TheLongestRowIsNoAxisWhateverDecidesIt) {
  const auto axes_of = [](const char* packing) {
    return study_of({run_of({{"data.packing", "false"}, {"max_length", "190"}}, 2, 100),
                     run_of({{"data.packing", packing}, {"max_length", "256"}}, 2, 100)})
        .axes;
  };

  ASSERT_EQ(axes_of("true").size(), 1u);
  EXPECT_EQ(axes_of("true")[0].key, "data.packing");
  EXPECT_TRUE(axes_of("false").empty());
}

TEST(Study, AFailedRunThatKnowsOnlyWhatTheSweepSetIsARepeatOfTheOthers) {
  RunReport failed = run_of({{"parallel.strategy", "dp"}, {"data.pin_memory", "true"}}, 2, 0, 1);
  failed.status = "failed";

  const Study study = study_of(
      {run_of({{"strategy", "dp"}, {"parallel.strategy", "dp"}, {"data.pin_memory", "true"}, {"pin_memory", "1"}}, 2,
              90),
       failed,
       run_of({{"strategy", "ddp"}, {"parallel.strategy", "ddp"}, {"data.pin_memory", "false"}, {"pin_memory", "0"}}, 2,
              100)});

  ASSERT_EQ(study.axes.size(), 2u);  // each once, although true is also written 1
  ASSERT_EQ(study.cells.size(), 2u);
  EXPECT_EQ(study.cells[0].runs, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(study.scaling, Scaling::strong);
}

TEST(Study, OverridesOfANamedCaseSayItAgain) {
  const Study study = study_of({run_of({{"case", "tuned"}, {"pin_memory", "true"}, {"layout", "nhwc"}}, 2, 110),
                                run_of({{"case", "plain"}, {"pin_memory", "false"}, {"layout", "nchw"}}, 2, 100)});

  ASSERT_EQ(study.axes.size(), 1u);
  EXPECT_EQ(study.axes[0].key, "case");
  EXPECT_EQ(study.configurations[0].label, "tuned");
}

TEST(Study, WhatFollowsFromTheRanksIsNoAxis) {
  const Study study = study_of({run_of({{"backend", "null"}, {"run.output", "a"}, {"threads", "2"}}, 1, 60),
                                run_of({{"backend", "mpi"}, {"run.output", "b"}, {"threads", "1"}}, 2, 100)});

  EXPECT_TRUE(study.axes.empty());
  EXPECT_EQ(study.configurations.size(), 1u);
}

TEST(Study, AFixedBatchPerRankIsWeakScaling) {
  const Study study = study_of({run_of({{"batch_per_rank", "32"}, {"global_batch", "32"}}, 1, 60),
                                run_of({{"batch_per_rank", "32"}, {"global_batch", "64"}}, 2, 110)});

  EXPECT_EQ(study.scaling, Scaling::weak);
  EXPECT_EQ(study.configurations.size(), 1u);
  EXPECT_NEAR(study.cell(0, 2)->efficiency.value, 110.0 / 120, 1e-12);
}

TEST(Study, DifferentWorkIsNotCompared) {
  const Study study = study_of({run_of({{"image_size", "100"}, {"strategy", "dp"}}, 1, 200),
                                run_of({{"image_size", "100"}, {"strategy", "ddp"}}, 1, 210),
                                run_of({{"image_size", "200"}, {"strategy", "dp"}}, 1, 50),
                                run_of({{"image_size", "200"}, {"strategy", "ddp"}}, 1, 60)});

  const auto groups = study.comparable();

  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[1], (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(study.kind, StudyKind::works);
  EXPECT_EQ(study.configurations[3].full_label(), "ddp, 200 px");
  EXPECT_EQ(style_of(study, 1), style_of(study, 3));  // the same options have the same colour
}

TEST(Study, FailedRunsCountForNothingAndStoppedOnesOnlyAlone) {
  RunReport failed = run_of({}, 2, 1000);
  failed.status = "failed";
  RunReport stopped = run_of({}, 4, 150);
  stopped.status = "stopped";

  const Study study = study_of({run_of({}, 2, 100, 1), failed, stopped});

  EXPECT_EQ(study.cell(0, 2)->status, CellStatus::complete);
  EXPECT_DOUBLE_EQ(study.cell(0, 2)->rate.value, 100);
  EXPECT_EQ(study.cell(0, 2)->runs.size(), 2u);
  EXPECT_EQ(study.cell(0, 4)->status, CellStatus::stopped);
  EXPECT_DOUBLE_EQ(study.cell(0, 4)->rate.value, 150);
  EXPECT_FALSE(study.cell(0, 4)->speedup.known());
  EXPECT_EQ(failures_finding(study).text.substr(0, 36), "Of 3 runs, 1 failed and 1 stopped; t");
}

TEST(Study, RunsThatEndedEarlyAreNamedAndRepeatOthers) {
  RunReport early = run_of({}, 2, 110), earlier = run_of({}, 2, 120);
  early.early_stop_step = 300;
  earlier.early_stop_step = 120;

  const Study study = study_of({run_of({}, 2, 100, 1), early, earlier}), one = study_of({early});

  EXPECT_EQ(study.configurations.size(), 1u);
  EXPECT_EQ(study.cell(0, 2)->runs.size(), 3u);
  EXPECT_EQ(early_stops_finding(study).text,
            "Of 3 runs, 2 ended early, when evaluations no longer improved (evaluate.patience): after steps 120 to "
            "300, see the table of runs.");
  EXPECT_EQ(early_stops_finding(one).text,
            "The run ended early, when evaluations no longer improved (evaluate.patience): after step 300.");
  EXPECT_TRUE(early_stops_finding(study_of({run_of({}, 1, 100)})).empty());
}

TEST(Study, MachinesThatDifferAreAnAxis) {
  std::vector<RunReport> runs{run_of({}, 1, 100), run_of({}, 1, 900)};
  runs[1].source = 1;

  const Study study =
      make_study({Source{"a.h5", {}, {{"cpu", "A"}}, {}, {}}, Source{"b.h5", {}, {{"gpus", "B"}}, {}, {}}},
                 std::move(runs), KeyTable());

  ASSERT_EQ(study.axes.size(), 1u);
  EXPECT_EQ(study.axes[0].key, "machine");
  EXPECT_EQ(study.comparable().size(), 2u);
}

TEST(Ranking, NamesTheFastestTheRunnerUpAndTheBaseline) {
  const Study study = study_of({run_of({{"strategy", "dp"}}, 2, 50), run_of({{"strategy", "ddp"}}, 2, 100),
                                run_of({{"strategy", "ddp-ds"}}, 2, 120), run_of({{"strategy", "ddp-ds"}}, 1, 70)});
  const std::vector<std::size_t> all{0, 1, 2};

  const Cell* best = fastest(study, all);

  ASSERT_TRUE(best);
  EXPECT_EQ(best->configuration, 2u);
  EXPECT_EQ(runner_up(study, all, *best)->configuration, 1u);
  EXPECT_EQ(baseline_cell(study, all, *best)->configuration, 0u);
}

TEST(Ranking, ACaseCalledPlainIsTheBaseline) {
  const Study study = study_of({run_of({{"case", "tuned"}}, 2, 120), run_of({{"case", "plain"}}, 2, 100)});

  EXPECT_EQ(baseline_cell(study, {0, 1}, study.cells[0])->configuration, 1u);
}

TEST(Ranking, TheBaselineHasTheValuesThatOptionsAreMeasuredAgainst) {
  const Study study = study_of({run_of({{"precision", "fp64"}, {"data.layout", "nhwc"}}, 2, 30),
                                run_of({{"precision", "fp64"}, {"data.layout", "nchw"}}, 2, 30),
                                run_of({{"precision", "fp32"}, {"data.layout", "nhwc"}}, 2, 90),
                                run_of({{"precision", "fp32"}, {"data.layout", "nchw"}}, 2, 80),
                                run_of({{"precision", "bf16"}, {"data.layout", "nhwc"}}, 2, 150)});
  const std::vector<std::size_t> all{0, 1, 2, 3, 4};

  EXPECT_EQ(baseline_cell(study, all, *fastest(study, all))->configuration, 3u);
}

TEST(Findings, OverlappingIntervalsAreNotADifference) {
  const Study study = study_of({run_of({{"strategy", "dp"}}, 2, 100), run_of({{"strategy", "ddp"}}, 2, 102)});

  const Finding finding = comparison_finding(study, study.cells[1], study.cells[0], "runner-up");

  EXPECT_EQ(finding.id, "runner-up");
  EXPECT_EQ(finding.text, "No measurable difference from the runner-up, dp: their intervals overlap.");
}

TEST(Findings, OneRepeatSaysThatItIsOne) {
  const Study once = study_of({run_of({{"strategy", "dp"}}, 2, 100), run_of({{"strategy", "ddp"}}, 2, 150)});
  const Study twice = study_of({run_of({}, 2, 100, 0), run_of({}, 2, 101, 1)});

  EXPECT_EQ(comparison_finding(once, once.cells[1], once.cells[0], "runner-up").text,
            "It does 1.50 times the rate of the runner-up, dp (1.46–1.54 within single runs).");
  EXPECT_EQ(repeats_finding(once).text, "One run of each only: the intervals exclude run-to-run variation.");
  EXPECT_EQ(repeats_finding(twice).text, "");
}

TEST(Findings, DifferentWorkHasALineEach) {
  const Study study = study_of({run_of({{"image_size", "100"}, {"strategy", "dp"}}, 1, 200),
                                run_of({{"image_size", "100"}, {"strategy", "ddp"}}, 1, 300),
                                run_of({{"image_size", "200"}, {"strategy", "dp"}}, 1, 50),
                                run_of({{"image_size", "200"}, {"strategy", "ddp"}}, 1, 51)});

  EXPECT_EQ(winners_finding(study).text,
            "ddp is the fastest for 1 of 2 kinds of work; the others have no clear winner");
  const std::vector<std::string> lines = texts_of(answers_by_work(study));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "100 px: ddp on 1 rank, 300 rows/s (95 % interval 294.0–306.0 over 30 steps of one run); 1.50 times the "
            "runner-up (dp).");
  EXPECT_NE(lines[1].find("no measurable difference with the runner-up (dp)"), std::string::npos);
}

TEST(Findings, OptionsOverKindsOfWorkAreAnOverview) {
  std::vector<RunReport> runs{run_of({{"image_size", "100"}, {"strategy", "dp"}}, 1, 200),
                              run_of({{"image_size", "100"}, {"strategy", "ddp"}}, 1, 300),
                              run_of({{"image_size", "200"}, {"strategy", "dp"}}, 1, 60),
                              run_of({{"image_size", "200"}, {"strategy", "ddp"}}, 1, 50)};

  const std::vector<Figure> figures = plan_figures(study_of(runs));

  ASSERT_FALSE(figures.empty());
  EXPECT_EQ(figures[0].id, "overview");
  EXPECT_EQ(figures[0].title, "Which options are the fastest depends on the work");
  EXPECT_NE(figures[0].drawing.script.find("'0.67'"), std::string::npos);  // 200 / 300
  EXPECT_NE(figures[0].drawing.script.find("'0.83'"), std::string::npos);  // 50 / 60
  EXPECT_EQ(figures[0].drawing.script.find("did not complete"), std::string::npos) << "all did";

  runs.back().status = "failed";
  runs.back().rate = {};
  EXPECT_NE(plan_figures(study_of(runs))[0].drawing.script.find("did not complete"), std::string::npos);
}

TEST(Findings, ComputingThatGetsDearerIsSaid) {
  // On 2 ranks each row takes 1.5 times the computing: rate 80 instead of 120.
  const Study study = study_of({run_of({}, 1, 60), run_of({}, 2, 80)});

  EXPECT_NEAR(compute_cost(*study.cell(0, 2)) / compute_cost(*study.cell(0, 1)), 1.5, 1e-12);
  EXPECT_NE(limit_finding(study, *study.cell(0, 2)).text.find("Each row takes 1.5× as much compute time as on 1 rank"),
            std::string::npos);
}

TEST(Findings, NothingCompleteHasNoAnswer) {
  RunReport failed = run_of({}, 2, 100);
  failed.status = "failed";

  failed.error = "the loss of step 2 is -nan (training has diverged) Lower optimizer.learning_rate.";
  RunReport other = failed, short_run = run_of({}, 2, kNone);
  other.repeat = 1;
  short_run.num_steps = 2;

  EXPECT_EQ(answer(study_of({failed}))[0].text, "The run failed: the loss of step 2 is not finite.");
  EXPECT_EQ(answer(study_of({failed, other}))[0].text, "All 2 runs failed: the loss of step 2 is not finite.");
  EXPECT_EQ(answer(study_of({short_run}))[0].text,
            "Nothing was measured: the run has 2 steps, left out as warm-up (skip_steps).");
}

TEST(Findings, RunsThatStoppedDidNotComplete) {
  RunReport stopped = run_of({}, 2, 100), failed = stopped;
  stopped.status = "stopped";
  stopped.num_steps = 200;
  RunReport shorter = stopped;
  shorter.repeat = 1;
  shorter.num_steps = 100;
  failed.status = "failed";
  failed.error = "out of memory (why)";
  failed.repeat = 2;

  EXPECT_EQ(answer(study_of({stopped}))[0].text, "The run did not complete: it stopped after 200 steps.");
  EXPECT_EQ(answer(study_of({stopped, shorter}))[0].text, "No run completed: 2 runs stopped after at most 200 steps.");
  EXPECT_EQ(answer(study_of({stopped, shorter, failed}))[0].text,
            "None of 3 runs completed: out of memory (1 of them).");
}

}  // namespace
}  // namespace multicard::post
