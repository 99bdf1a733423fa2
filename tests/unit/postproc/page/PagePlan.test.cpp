#include "postproc/page/PagePlan.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Bytes.hpp"
#include "postproc/figures/PlanFigures.hpp"
#include "postproc/study/PlanAnswer.hpp"
#include "support/test_world.hpp"

namespace multicard::post {

namespace {

using testing::HasSubstr;

constexpr const char* kPlan =
    R"({"objective":"makespan","gpus":8,"value":100.0,"schedule":[)"
    R"({"task":"vision","gpus":4,"nodes":1,"start_s":0.0,"end_s":60.0},)"
    R"({"task":"llm","gpus":4,"nodes":1,"start_s":0.0,"end_s":100.0}],)"
    R"("baselines":{"equal":150.0,"sequential":125.0},"solve_ms":1,"bound":100.0,"gap":0.0,"search":"complete"})";
constexpr const char* kSmallPlan =
    R"({"objective":"makespan","gpus":2,"value":400.0,"schedule":[],)"
    R"("baselines":{"equal":null,"sequential":null},"solve_ms":1,"bound":360.0,"gap":0.1,"search":"time-limit"})";
constexpr const char* kReplay =
    R"({"policy":"fifo","jobs":160,"average_jct_s":7200.0,"p99_jct_s":9000.0,"makespan_s":36000.0})";
constexpr const char* kFaster =
    R"({"policy":"greedy","jobs":160,"average_jct_s":3600.0,"p99_jct_s":5000.0,"makespan_s":18000.0})";

class PagePlan : public testing::Test {
 protected:
  PlanFile file_of(const std::string& lines) {
    const std::string path = folder_ / "plan.json";
    write_file(path, lines);
    return read_plan_file(path);
  }

  test::ScratchFolder folder_;
};

TEST_F(PagePlan, APlanIsComparedWithTheBetterBaseline) {
  const Finding finding = plan_finding(file_of(std::string(kPlan) + "\n"));

  EXPECT_EQ(finding.text,
            "Planned for 8 GPUs: all tasks are done after 100.0 s, 20.0 % sooner than with one task after another "
            "(125.0 s).");
  EXPECT_DOUBLE_EQ(finding.evidence.all().at("change"), 0.2);
}

TEST_F(PagePlan, PlansOfSeveralMachinesSayWhatTheSmallestReaches) {
  const Finding finding = plan_finding(file_of(std::string(kPlan) + "\n" + kSmallPlan + "\n"));

  EXPECT_EQ(finding.text, "Planned for 8 GPUs: all tasks are done after 100.0 s (on 2: 400.0 s).");
}

TEST_F(PagePlan, APlanThatMayBeImprovedSaysByHowMuch) {
  EXPECT_EQ(plan_finding(file_of(kSmallPlan)).text,
            "Planned for 2 GPUs: all tasks are done after 400.0 s; at most 10.0 % from the optimum.");
}

TEST_F(PagePlan, AReplayNamesThePolicyWithTheShortestAverage) {
  const Finding finding = plan_finding(file_of(std::string(kReplay) + "\n" + kFaster + "\n"));

  EXPECT_EQ(finding.text,
            "Of 2 policies, simulated on 160 jobs, greedy has the shortest average completion time: 1 h 00 min, 50.0 % "
            "less than fifo.");
}

TEST_F(PagePlan, PoliciesThatAreAlikeAreNamedTogether) {
  std::string other = kFaster;
  other.replace(other.find("greedy"), 6, "adaptive");

  EXPECT_THAT(plan_finding(file_of(std::string(kFaster) + "\n" + other)).text, HasSubstr("greedy and adaptive have"));
}

TEST_F(PagePlan, FiguresAndTablesShowWhoHasWhatWhen) {
  const PlanFile file = file_of(kPlan);

  const std::vector<Figure> figures = figures_of(file);
  const std::string path = write_plan_report(file, folder_ / "report", Gnuplot("no-such-program"), {});

  ASSERT_EQ(figures.size(), 2);
  EXPECT_EQ(figures[0].id, "plan-schedule");
  EXPECT_EQ(figures[0].data.rows.size(), 2);
  EXPECT_THAT(read_file(path), HasSubstr("<table data-table=\"schedule-8\">"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "report/summary.json"));
}

TEST_F(PagePlan, MachinesOfOneSizeHaveTablesOfTheirOwn) {
  const PlanFile file = file_of(std::string(kPlan) + "\n" + kPlan + "\n");

  const std::string page = read_file(write_plan_report(file, folder_ / "report", Gnuplot("no-such-program"), {}));

  EXPECT_THAT(page, HasSubstr("<table data-table=\"schedule-8\">"));
  EXPECT_THAT(page, HasSubstr("<table data-table=\"schedule-8-2\">"));
  EXPECT_THAT(plan_finding(file).text, HasSubstr("sooner than with one task after another"));
}

TEST_F(PagePlan, WithoutAPlanNoReasonIsClaimed) {
  std::string none = kSmallPlan;
  none.replace(none.find("400.0"), 5, "null");

  EXPECT_EQ(plan_finding(file_of(none)).text, "No plan for 2 GPUs: not all tasks can run there, or none was found.");
}

TEST_F(PagePlan, WhatIsNoPlanIsRefused) {
  const std::string not_json = "{\"objective\": \"makespan\", \"schedule\": oops\n";
  const std::string two_kinds = std::string(kPlan) + "\n" + kReplay + "\n";
  const std::string no_count = R"({"policy":"fifo","jobs":1.5,"average_jct_s":1,"p99_jct_s":1,"makespan_s":1})";

  for (const std::string& lines : {not_json, two_kinds, no_count, std::string()})
    EXPECT_THROW(file_of(lines), DataError) << lines;
}

}  // namespace

}  // namespace multicard::post
