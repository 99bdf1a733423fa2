#include "postproc/study/DataSets.hpp"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "SyntheticStudy.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/reduce/Reduce.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Collection.hpp"
#include "runs_in_memory.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A run of a data set: its tokens a step in `seconds`, `padding` tokens computed for nothing.
RunReport run_of_set(const std::string& name, double tokens, double seconds, double padding = 0) {
  RunReport run = run_of({{"case", name}, {"data.train", "data/" + name + "-*.h5"}, {"global_batch", "8"}}, 1, 1);
  run.unit = "tokens";
  run.rate = {tokens / seconds, Interval{0.99 * tokens / seconds, 1.01 * tokens / seconds}, Basis::steps, 30};
  run.step_time = {seconds, Interval{0.99 * seconds, 1.01 * seconds}, Basis::steps, 30};
  run.text = TextReport{};
  run.text->rows = 8;
  run.text->tokens = tokens;
  run.text->trained = tokens / 4;
  run.text->computed = tokens + padding;
  run.text->imbalance = 1;
  run.text->longest_row = 100;
  return run;
}

TEST(ReduceText, MeansAreOverMeasuredStepsAndImbalanceIsTheLargestRankOverTheMeanOne) {
  // The first step is skipped. Steps 1 and 2: tokens 30 + 10 and 20 + 20, imbalance 30/20 and 20/20.
  RunData run;
  run.ranks = 2;
  run.num_steps = 3;
  run.summary.skip_steps = 1;
  run.summary.integers["max_length"] = 25;
  run.times["step"] = {2, 3, {1, 1, 1, 1, 1, 1}};
  run.counts["samples"] = {2, 3, {9, 2, 1, 9, 1, 2}};
  run.counts["tokens"] = {2, 3, {900, 30, 20, 900, 10, 20}};
  run.counts["trained_tokens"] = {2, 3, {900, 6, 4, 900, 2, 4}};
  run.counts["computed_tokens"] = {2, 3, {900, 30, 20, 900, 30, 20}};

  const RunReport report = reduce_run(run);

  ASSERT_TRUE(report.text);
  EXPECT_DOUBLE_EQ(report.text->rows, 3);
  EXPECT_DOUBLE_EQ(report.text->tokens, 40);
  EXPECT_DOUBLE_EQ(report.text->mean_row(), 40.0 / 3);
  EXPECT_DOUBLE_EQ(report.text->trained_share(), 0.2);
  EXPECT_DOUBLE_EQ(report.text->padding_share(), 0.2);  // 40 of 50 computed
  EXPECT_DOUBLE_EQ(report.text->imbalance, 1.25);
  EXPECT_EQ(report.text->longest_row, 25);
}

TEST(ReduceText, RunsWithoutTokensHaveNone) {
  RunData run;
  run.ranks = 1;
  run.num_steps = 1;
  run.times["step"] = {1, 1, {1}};
  run.counts["samples"] = {1, 1, {9}};

  EXPECT_FALSE(reduce_run(run).text);
}

TEST(LengthEffect, TokensExplainAllWhereRatesAreEqual) {
  const Study study = study_of({run_of_set("a", 100, 1), run_of_set("b", 400, 4), run_of_set("c", 800, 8)});

  const LengthEffect effect = length_effects(study).at(0);

  EXPECT_NEAR(effect.explained.value, 1, 1e-12);
  EXPECT_DOUBLE_EQ(effect.time_spread, 8);
  EXPECT_EQ(study.configurations[effect.slowest->configuration].full_label(), "c");
}

TEST(LengthEffect, WhatIsLeftOfTheLogarithmsIsNotExplained) {
  // Times 1 and 4 for 1 and 2 times the tokens: logarithms lie ln 4 apart, and ln 2 after division. 1 - (1/2)^2.
  // With padding 1 and 4 times as much is computed: nothing is left.
  const Study study = study_of({run_of_set("a", 100, 1), run_of_set("b", 200, 4, 200)});

  const LengthEffect effect = length_effects(study).at(0);

  EXPECT_NEAR(effect.explained.value, 0.75, 1e-12);
  EXPECT_NEAR(effect.explained_with_padding.value, 1, 1e-12);
}

TEST(LengthEffect, NothingIsExplainedWhereRatesDifferMoreThanTimes) {
  const Study study = study_of({run_of_set("a", 100, 1), run_of_set("b", 400, 1.1)});

  EXPECT_LT(length_effects(study).at(0).explained.value, 0);
  EXPECT_TRUE(has(data_set_findings(study).at(0).text, "explain nothing of the differences"));
}

TEST(LengthEffect, EqualTokensExplainNone) {
  const Study study = study_of({run_of_set("a", 1000, 1), run_of_set("b", 1039, 2)});

  EXPECT_FALSE(length_effects(study).at(0).explained.known());
  EXPECT_TRUE(has(data_set_findings(study).at(0).text, "equal within ± 1.9 %, so"));
}

TEST(LengthEffect, TokensThatAreNotQuiteEqualAreWarnedOf) {
  const Study study = study_of({run_of_set("a", 1000, 1), run_of_set("b", 1060, 2), run_of_set("c", 1030, 2)});

  EXPECT_TRUE(length_effects(study).at(0).equal_tokens());
  EXPECT_TRUE(has(data_set_findings(study).at(0).text, "Warning: input tokens per step are equal within ± 2.9 % only"));
}

TEST(LengthEffect, TheIntervalMovesEachTimeToTheEndsOfItsOwn) {
  // Times 1 and 4 with ± 1 % for 1 and 2 times the tokens: of two sets the share is 1 - (ln(t/2) / ln t)^2, t = 4.
  const Study study = study_of({run_of_set("a", 100, 1), run_of_set("b", 200, 4)});
  const auto share = [](double t) { return 1 - std::pow(std::log(t / 2) / std::log(t), 2); };
  const double middle = share(4);

  const Estimate explained = length_effects(study).at(0).explained;

  ASSERT_TRUE(explained.interval);
  EXPECT_NEAR(explained.value, middle, 1e-12);
  EXPECT_NEAR(explained.interval->low, middle - std::hypot(middle - share(4 / 0.99), middle - share(4 * 1.01)), 1e-9);
  EXPECT_NEAR(explained.interval->high, middle + std::hypot(share(4 / 1.01) - middle, share(4 * 0.99) - middle), 1e-9);
  EXPECT_EQ(explained.basis, Basis::steps);
}

TEST(LengthEffect, TheIntervalOfAFullExplanationReachesDownwardsOnly) {
  const Study study = study_of({run_of_set("a", 100, 1), run_of_set("b", 400, 4), run_of_set("c", 800, 8)});

  const Estimate explained = length_effects(study).at(0).explained;

  EXPECT_LT(explained.interval->low, 1 - 1e-6);
  EXPECT_NEAR(explained.interval->high, 1, 1e-12);
}

TEST(DataSets, ACaseThatChoosesTheDataSetIsTheWork) {
  RunReport a = run_of_set("a", 100, 1), b = run_of_set("b", 400, 4);
  b.settings["global_batch"] = "2";
  b.settings["run.micro_batch"] = "1";

  const Study study = study_of({a, b});

  ASSERT_EQ(study.axes.size(), 1u);
  EXPECT_EQ(study.axes[0].key, "case");
  EXPECT_TRUE(study.axes[0].is_work);
  EXPECT_TRUE(compares_data_sets(study));
  EXPECT_EQ(study.kind, StudyKind::data_sets);
}

TEST(DataSets, OtherCasesStayOptions) {
  RunReport tuned = run_of({{"case", "tuned"}, {"data.layout", "nhwc"}, {"data.train", "x"}}, 1, 2);
  RunReport plain = run_of({{"case", "plain"}, {"data.layout", "nchw"}, {"data.train", "x"}}, 1, 1);

  const Study study = study_of({tuned, plain});

  EXPECT_FALSE(study.axes.at(0).is_work);
  EXPECT_FALSE(compares_data_sets(study));
  EXPECT_EQ(study.kind, StudyKind::one_work);
}

/// A sweep of two data sets of the same names: `rows` of 100 and 400 tokens each.
void write_sweep_of_sets(const std::string& path, const std::vector<int>& rows) {
  std::vector<std::string> partial;
  for (std::size_t set = 0; set < 2; ++set)
    for (const int ranks : {1, 2}) {
      test::SyntheticRun run;
      run.name = "000" + std::to_string(partial.size());
      run.ranks = ranks;
      run.global_batch = rows[set];
      run.row_seconds = set == 0 ? 0.001 : 0.004;
      run.settings = {{"case", set == 0 ? "short" : "long"}, {"data.train", set == 0 ? "data/a" : "data/b"}};
      RankRows record = test::rows_of(run);
      for (auto& [rank, of_rank] : record)
        for (const std::int64_t samples : of_rank.samples) {
          const std::int64_t tokens = samples * (set == 0 ? 100 : 400);
          of_rank.counts["tokens"].push_back(tokens);
          of_rank.counts["trained_tokens"].push_back(tokens / 4);
          of_rank.counts["computed_tokens"].push_back(tokens * 5 / 4);
        }
      RunSummary summary = test::summary_of(run);
      summary.text["task"] = "llm";
      partial.push_back(path + "." + run.name);
      write_results(partial.back(), Communicator::null(), test::synthetic_provenance(ranks), summary, record);
    }
  assemble_results(path, partial, test::synthetic_provenance(2));
}

TEST(DataSets, EqualRowsAndEqualTokensAreTwoStudies) {
  const test::ScratchFolder folder;
  write_sweep_of_sets(folder / "rows.h5", {16, 16});
  write_sweep_of_sets(folder / "tokens.h5", {20, 5});

  const Collection collection = read_results({folder / "rows.h5", folder / "tokens.h5"});

  ASSERT_EQ(collection.studies.size(), 2u);
  const Study &rows = collection.studies[0], &tokens = collection.studies[1];
  EXPECT_EQ(rows.title(), "Data sets at 16 rows per step on 1, 2 ranks");
  EXPECT_EQ(tokens.title(), "Data sets at equal tokens per step on 1, 2 ranks");
  EXPECT_EQ(rows.configurations.size(), 2u);
  EXPECT_GT(length_effects(rows).at(0).explained.value, 0.5);
  EXPECT_FALSE(length_effects(tokens).at(0).explained.known());
  const std::string html = data_sets_html(rows);
  EXPECT_TRUE(has(html, ">20.0 %<"));  // padding: a quarter more is computed
  EXPECT_TRUE(has(html, "times the tokens of the shortest"));
  const std::vector<Figure> figures = plan_figures(rows);
  EXPECT_EQ(figures.at(0).id, "study-1-data_sets-time");
  EXPECT_EQ(figures.at(1).id, "study-1-data_sets-rate");
}

TEST(DataSets, FailedSetsAreCrossesAndAreNotCompared) {
  RunReport failed = run_of_set("c", 1, 1);
  failed.status = "failed";
  failed.rate = failed.step_time = {};
  failed.text.reset();
  const Study study = study_of({run_of_set("a", 100, 1), run_of_set("b", 400, 4), failed});

  EXPECT_EQ(length_effects(study).at(0).cells.size(), 2u);
  std::vector<Figure> figures;
  add_data_set_figures(study, figures);
  EXPECT_TRUE(has(figures.at(0).subtitle, "× failed or stopped"));
}

}  // namespace
}  // namespace multicard::post
