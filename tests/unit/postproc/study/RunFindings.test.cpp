#include "postproc/study/RunFindings.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "postproc/page/Json.hpp"
#include "postproc/page/Page.hpp"
#include "postproc/page/Tables.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

Finding waiting(double share) {
  return {"Steps wait for data.", {{"share", share}}, "input_bound", Severity::notice, "data.workers"};
}

/// Runs 0000 to 0006, one on each number of ranks; those whose share is above 0 wait for data.
Study study_with(const std::vector<double>& shares) {
  std::vector<RunReport> runs;
  for (const double share : shares) {
    RunReport run = run_of({{"strategy", "ddp"}}, static_cast<int>(runs.size()) + 1, 100);
    run.name = "000" + std::to_string(runs.size());
    if (share > 0) run.findings = {waiting(share)};
    runs.push_back(std::move(run));
  }
  return study_of(std::move(runs));
}

TEST(RunFindings, OfASingleRunAreItsOwn) {
  const Findings found = run_findings(study_with({0.3}));

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text, "Steps wait for data.");
  EXPECT_EQ(found[0].evidence.all(), (std::map<std::string, double>{{"of_runs", 1}, {"runs", 1}, {"share", 0.3}}));
}

TEST(RunFindings, OfManyRunsAreOneSentenceWithTheWorst) {
  const Findings found = run_findings(study_with({0.2, 0, 0.4, 0.3}));

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text, "3 of 4 runs (0000, 0002, 0003; most in 0002): Steps wait for data.");
  EXPECT_EQ(found[0].setting, "data.workers");
  EXPECT_EQ(found[0].evidence.all(), (std::map<std::string, double>{{"of_runs", 4}, {"runs", 3}, {"share", 0.4}}));
}

TEST(RunFindings, NameAFewOfManyRuns) {
  const Findings found = run_findings(study_with({0.2, 0.2, 0.2, 0.2, 0.2, 0.1}));

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text, "All 6 runs (most in 0000): Steps wait for data.");
  EXPECT_EQ(run_findings(study_with({0.2, 0.2, 0.2, 0.2, 0.3, 0}))[0].text,
            "5 of 6 runs (0000, 0001, 0002, 0003, …; most in 0004): Steps wait for data.");
  EXPECT_EQ(run_findings(study_with({0, 0, 0.2}))[0].text, "1 of 3 runs (0002): Steps wait for data.");
}

TEST(RunFindings, AreInTheTerminalThePageAndTheSummary) {
  const Collection collection = collection_of(study_with({0.2, 0.4}));
  const PageFigures figures = plan_figures(collection);

  const auto json = nlohmann::json::parse(summary_json(collection, figures));
  const std::string text = json["studies"][0]["findings"][0]["text"];
  EXPECT_EQ(text, "All 2 runs (most in 0001): Steps wait for data.");
  EXPECT_EQ(json["studies"][0]["findings"][0]["setting"], "data.workers");
  EXPECT_EQ(json["studies"][0]["runs"][1]["findings"][0]["numbers"]["share"], 0.4);
  EXPECT_NE(terminal_table(collection, std::nullopt).find(text + "\n"), std::string::npos);
  EXPECT_NE(report_page(collection, figures, {}).find("id=\"findings\""), std::string::npos);
}

TEST(RunFindings, AHealthyStudyHasNoPartForThem) {
  const Collection collection = collection_of(study_with({0, 0}));

  EXPECT_TRUE(run_findings(collection.studies[0]).empty());
  EXPECT_EQ(report_page(collection, plan_figures(collection), {}).find("id=\"findings\""), std::string::npos);
}

}  // namespace
}  // namespace multicard::post
