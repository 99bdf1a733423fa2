#include "postproc/study/ScalingPrediction.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "postproc/figures/Figures.hpp"
#include "postproc/page/PageTables.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

/// Seconds of a step of `rows` rows on each of `ranks` ranks of one node: 5 ms a row, and an all-reduce.
double step_s(int ranks, double rows) {
  return 0.005 * rows + (ranks > 1 ? 0.004 + 0.008 * (ranks - 1.0) / ranks : 0);
}

RunReport measured(int ranks, int global_batch, double factor = 1, int repeat = 0) {
  const double seconds = factor * step_s(ranks, static_cast<double>(global_batch) / ranks);
  RunReport run = run_of({{"global_batch", std::to_string(global_batch)}}, ranks, global_batch / seconds, repeat);
  run.step_time.value = run.mean_step = seconds;
  return run;
}

/// Steps of 64 rows on 1, 2, 4 and 8 ranks, three repeats each that differ by a percent.
std::vector<RunReport> strong_scaling() {
  std::vector<RunReport> runs;
  for (const int ranks : {1, 2, 4, 8})
    for (const int repeat : {0, 1, 2})
      runs.push_back(measured(ranks, 64, 0.99 + 0.01 * repeat, repeat));
  return runs;
}

TEST(ScalingPrediction, OfTwiceTheMeasuredRanksIsRight) {
  const Study study = study_of(strong_scaling());

  ASSERT_EQ(study.predictions.size(), 1U);
  const ScalingPrediction& prediction = study.predictions[0];
  EXPECT_LT(prediction.error, 0.03);
  ASSERT_GE(prediction.points.size(), 5U);
  const PredictedRate& next = prediction.points[4];
  EXPECT_EQ(next.ranks, 16);
  EXPECT_FALSE(next.is_measured);
  EXPECT_TRUE(prediction.points[3].is_measured);
  const double rate = 64 / step_s(16, 4);
  EXPECT_NEAR(next.rate.value, rate, 0.1 * rate);
  EXPECT_LE(next.rate.interval->low, rate);
  EXPECT_GE(next.rate.interval->high, rate);
}

TEST(ScalingPrediction, SaysFromHowManyRanksOnEfficiencyIsLost) {
  const ScalingPrediction prediction = study_of(strong_scaling()).predictions.at(0);

  int expected = 1;
  while (step_s(1, 64) / step_s(expected, 64.0 / expected) / expected >= kWorthwhileEfficiency)
    ++expected;
  ASSERT_TRUE(prediction.inefficient_from);
  EXPECT_NEAR(*prediction.inefficient_from, expected, 1);
}

TEST(ScalingPrediction, AFixedBatchPerRankKeepsItsRows) {
  const Study study = study_of({measured(1, 32), measured(2, 64), measured(4, 128)});

  const ScalingPrediction& prediction = study.predictions.at(0);
  EXPECT_FALSE(prediction.inefficient_from) << "the all-reduce costs less than a tenth";
  ASSERT_GE(prediction.points.size(), 4U);
  EXPECT_EQ(prediction.points[3].ranks, 8);
  EXPECT_NEAR(prediction.points[3].rate.value, 256 / step_s(8, 32), 25);
}

TEST(ScalingPrediction, NeedsThreeNumbersOfRanksThatDidTheSame) {
  EXPECT_TRUE(study_of({measured(1, 64), measured(2, 64)}).predictions.empty());
  RunReport failed = measured(4, 64);
  failed.status = "failed";
  EXPECT_TRUE(study_of({measured(1, 64), measured(2, 64), failed}).predictions.empty());
  EXPECT_TRUE(study_of({run_of({}, 1, 10), run_of({}, 2, 20), run_of({}, 4, 40)}).predictions.empty())
      << "without a batch";
}

TEST(ScalingPrediction, MoreThanTheRowsOfABatchIsNotPredicted) {
  const Study study = study_of({measured(1, 8), measured(2, 8), measured(4, 8)});
  EXPECT_LE(study.predictions.at(0).points.back().ranks, 8);
}

TEST(ScalingPrediction, NothingIsSaidOfSeveralNodesWhereOneWasMeasured) {
  // A job of two nodes, of whose ranks the runs used those of the first one only.
  std::vector<Source> sources{{"results.h5", {}, {}, {}, known_setting_keys()}};
  sources[0].hosts = {"a", "a", "a", "a", "b", "b", "b", "b"};
  const Study study = make_study(sources, {measured(1, 64), measured(2, 64), measured(4, 64)}, KeyTable(sources));
  EXPECT_EQ(study.predictions.at(0).points.back().ranks, 4);
}

TEST(ScalingPrediction, IsDrawnAndTabled) {
  const Study study = study_of(strong_scaling());
  std::vector<Figure> figures;
  add_model_figures(study, figures);

  ASSERT_EQ(figures.size(), 1U);
  EXPECT_NE(figures[0].title.find(" predicted on "), std::string::npos) << figures[0].title;
  EXPECT_NE(figures[0].caption.find("falls below 0.8 from "), std::string::npos) << figures[0].caption;
  EXPECT_NE(figures[0].caption.find("mean error"), std::string::npos) << figures[0].caption;
  EXPECT_TRUE(scaling_html(study).empty()) << "the figure says it";
  std::vector<RunReport> runs = strong_scaling();
  for (RunReport run : strong_scaling()) {
    run.settings["strategy"] = "other";
    runs.push_back(run);
  }
  EXPECT_NE(scaling_html(study_of(runs)).find("mean error"), std::string::npos);
  EXPECT_TRUE(scaling_html(study_of({measured(1, 64), measured(2, 64)})).empty());
}

}  // namespace
}  // namespace multicard::post
