#include "postproc/study/BeforeAfter.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "SyntheticStudy.hpp"
#include "postproc/page/Json.hpp"
#include "postproc/page/Page.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/page/Tables.hpp"
#include "postproc/reduce/ReduceParts.hpp"
#include "postproc/study/Collection.hpp"
#include "runs_in_memory.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Tuned for 30 steps, with 50 questions.
RunSummary tuned_summary() {
  test::SyntheticRun run;
  run.num_steps = 30;
  RunSummary summary = test::summary_of(run);
  summary.text["task"] = "llm";
  summary.metrics.erase("eval_accuracy");
  summary.metrics["eval_loss"] = {{2, 1.8, 1.5}, {0, 15, 30}};
  summary.metrics["eval_perplexity"] = {{8, 6, 4}, {0, 15, 30}};
  summary.metrics["eval_exact_match"] = {{0.04, 0.3}, {0, 30}};
  summary.metrics["eval_questions"] = {{50, 50}, {0, 30}};
  summary.tables["answers"].text = {{"prompt", {"Is 1 < 2?", "And\nthen?"}},
                                    {"before", {"I do not know & never will.", ""}},
                                    {"after", {"Yes.\n<b>1 < 2</b>", "Nothing."}}};
  return summary;
}

Collection collection_of_summary(const RunSummary& summary) {
  RunReport run = run_of({{"task", "llm"}}, 2, 100);
  run.tuning = reduce_tuning(summary);
  return collection_of(study_of({run}));
}

TEST(BeforeAfter, TakesTheFirstValueBeforeAnyStepAndTheLast) {
  const TuningReport report = reduce_tuning(tuned_summary()).value();

  const std::vector<ChangeLine> lines = change_lines(report);

  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].before + " " + lines[0].after + " " + lines[0].change, "2 1.5 −0.500");
  EXPECT_EQ(lines[1].before + " " + lines[1].after + " " + lines[1].change, "8 4 −50.0 %");
  EXPECT_EQ(lines[2].before, "2 of 50, 4.0 %");
  EXPECT_EQ(lines[2].after, "15 of 50, 30.0 %");
  EXPECT_EQ(lines[2].change, "+26.0 points");
}

TEST(BeforeAfter, WhatWasNotMeasuredBeforeHasNoChange) {
  RunSummary summary = tuned_summary();
  summary.metrics["eval_loss"] = {{1.5}, {30}};
  summary.metrics["eval_perplexity"] = {{4}, {30}};

  const std::vector<ChangeLine> lines = change_lines(reduce_tuning(summary).value());

  EXPECT_EQ(lines[0].before + " " + lines[0].after + " " + lines[0].change, "– 1.5 –");
}

TEST(BeforeAfter, ShowsRewardsOfPreferencePairsInPlaceOfThePerplexity) {
  RunSummary summary = tuned_summary();
  summary.metrics.erase("eval_perplexity");
  summary.metrics.erase("eval_exact_match");
  summary.metrics["eval_reward_margin"] = {{0, 0.25}, {0, 30}};
  summary.metrics["eval_reward_accuracy"] = {{0, 0.8}, {0, 30}};

  const std::vector<ChangeLine> lines = change_lines(reduce_tuning(summary).value());

  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].measure + ": " + lines[1].before + " " + lines[1].after, "reward margin: 0 0.25");
  EXPECT_EQ(lines[2].before + " " + lines[2].after + " " + lines[2].change, "0.0 % 80.0 % +80.0 points");
}

TEST(BeforeAfter, RunsWithNothingToCompareHaveNone) {
  RunSummary summary = tuned_summary();
  summary.metrics["eval_loss"] = {{1.5}, {30}};
  summary.metrics.erase("eval_exact_match");
  summary.tables.clear();
  EXPECT_FALSE(reduce_tuning(summary));

  summary = tuned_summary();
  summary.text["task"] = "image";
  EXPECT_FALSE(reduce_tuning(summary));
}

TEST(BeforeAfter, ThePageShowsAnswersAsTextInTheirLines) {
  const Collection collection = collection_of_summary(tuned_summary());

  const std::string page = report_page(collection, {{{}}, {}}, {"test", {}});

  EXPECT_TRUE(has(page, "<section id=\"before-after\">"));
  EXPECT_TRUE(has(page, "<p>Is 1 &lt; 2?</p>"));
  EXPECT_TRUE(has(page, "<dt>after</dt><dd>Yes.\n&lt;b&gt;1 &lt; 2&lt;/b&gt;</dd>"));
  EXPECT_TRUE(has(page, "<dt>before</dt><dd>–</dd>"));
  EXPECT_TRUE(has(page, "15 of 50, 30.0 %"));
  EXPECT_TRUE(
      has(page, "intervals of the exact match: 1.1\u00A0% to 13.5\u00A0% before, 19.1\u00A0% to 43.8\u00A0% after."));
}

TEST(BeforeAfter, WithFewQuestionsAChangeIsNotSignificant) {
  RunSummary summary = tuned_summary();
  summary.metrics["eval_exact_match"].values = {0.2, 0.4};
  summary.metrics["eval_questions"].values = {10, 10};

  EXPECT_TRUE(has(before_after_html(collection_of_summary(summary).studies[0]), "they overlap"));
}

TEST(BeforeAfter, EachRunOfASweepHasItsHeading) {
  RunReport one = run_of({{"task", "llm"}, {"method.rank", "8"}}, 1, 100), other = one;
  other.settings["method.rank"] = "16";
  one.tuning = other.tuning = reduce_tuning(tuned_summary());
  one.name = "0000";
  other.name = "0001";

  const std::string html = before_after_html(study_of({one, other}));

  EXPECT_TRUE(has(html, "<h3>Run 0000: "));
  EXPECT_TRUE(has(html, "<h3>Run 0001: "));
}

TEST(BeforeAfter, TheTerminalAndTheSummarySayTheSame) {
  const test::ScratchFolder folder;
  test::SyntheticRun run;
  run.num_steps = 30;
  write_results(folder / "results.h5", Communicator::null(), test::synthetic_provenance(2), tuned_summary(),
                test::rows_of(run));

  const Collection collection = read_results({folder / "results.h5"});

  const std::string table = terminal_table(collection);
  EXPECT_TRUE(has(table, "what tuning changed          before             after        change\n")) << table;
  EXPECT_TRUE(has(table, "test loss                         2               1.5        −0.500\n")) << table;
  const auto json = nlohmann::json::parse(
      summary_json(collection, plan_figures(collection)))["studies"][0]["runs"][0]["before_after"];
  EXPECT_EQ(json["test_loss"]["before"], 2);
  EXPECT_EQ(json["exact_match"]["after"], 0.3);
  EXPECT_EQ(json["questions"]["after"], 50);
  EXPECT_EQ(json["answers"][0]["after"], "Yes.\n<b>1 < 2</b>");
  EXPECT_EQ(json["answers"][1]["before"], "");
}

}  // namespace
}  // namespace multicard::post
