#include <cmath>

#include <gtest/gtest.h>

#include "SyntheticStudy.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/study/Collection.hpp"
#include "support/expect_error.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

/// A share of two tasks on three ranks: a on 0-1 for 4 s, b on 2 for 5 s, then a on all for 5 s.
TableGroup example() {
  TableGroup group{"/allocation", {{"policy", "adaptive"}, {"objective", "makespan"}}, {}};
  Table& table = group.tables["intervals"];
  table.text["task"] = {"a", "b", "a"};
  table.integers = {{"first_rank", {0, 2, 0}}, {"ranks", {2, 1, 3}}};
  table.reals = {{"start_s", {0, 0, 5}}, {"end_s", {4, 5, 10}}};
  return group;
}

std::string write_share(const test::ScratchFolder& folder, const TableGroup& group) {
  test::write_run(folder / "a.h5", {});
  std::string path = folder / "results.h5";
  assemble_results(path, std::vector<RenamedResults>{{folder / "a.h5", "a"}}, test::synthetic_provenance(2), {}, group);
  return path;
}

TEST(AllocationFigures, ShowWhichTaskEachRankHad) {
  const test::ScratchFolder folder;
  const Collection read = read_results({write_share(folder, example())});
  std::vector<Figure> figures;
  add_allocation_figures(read.studies.at(0), figures);

  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].title, "2 tasks had 3 ranks, with 1 move");
  EXPECT_EQ(figures[0].caption, "The ranks had a task during 93.3 % of the time until the last one ended.");
  const Gnuplot gnuplot;
  if (gnuplot.available()) {
    draw(gnuplot, figures);
    EXPECT_NE(figures[0].svg.find("rank 2"), std::string::npos) << "it can be drawn, with its gaps";
  }
  for (const char* text : {"rank 0", "rank 2", "seconds since the first launch"})
    EXPECT_NE(figures[0].drawing.script.find(text), std::string::npos) << text;
}

TEST(AllocationTable, ComparesPredictedAndMeasuredSteps) {
  const test::ScratchFolder folder;
  TableGroup group = example();
  group.tables["intervals"].reals["predicted_step_s"] = {0, 0.1, 0.06};
  group.tables["intervals"].reals["measured_step_s"] = {0.1, 0.08, 0.05};
  const std::string html = allocation_html(read_results({write_share(folder, group)}).studies.at(0));
  for (const char* text : {"predicted 2 times", "0–2", "60", "25", "20"})
    EXPECT_NE(html.find(text), std::string::npos) << text << " in " << html;
  EXPECT_NE(allocation_html(read_results({write_share(folder, example())}).studies.at(0)).find("No task came to ranks"),
            std::string::npos)
      << "older files have no times";
}

TEST(AllocationTable, SaysWhatWasDecidedAndWhatOtherPoliciesTake) {
  const test::ScratchFolder folder;
  TableGroup group = example();
  Table& decisions = group.tables["decisions"];
  decisions.text = {{"task", {"a"}}, {"reason", {"predicted gain 25.0 %"}}};
  decisions.integers = {{"from", {2}}, {"to", {3}}};
  decisions.reals = {{"time_s", {5}}, {"predicted_gain", {0.25}}, {"cost_s", {0.125}}};
  Table& baselines = group.tables["baselines"];
  baselines.text = {{"policy", {"sequential", "equal"}}, {"reason", {"", "too little was measured of a"}}};
  baselines.reals = {{"predicted_s", {15, 0}}, {"low_s", {12, 0}}, {"high_s", {18, 0}}};
  const std::string html = allocation_html(read_results({write_share(folder, group)}).studies.at(0));
  for (const char* text : {"2 → 3", "predicted gain 25.0 %", "one task after another", "15.00 (12.00–18.00)",
                           "1.50 (1.20–1.80)", "too little was measured of a", "unknown", "took 10 s"})
    EXPECT_NE(html.find(text), std::string::npos) << text << " in " << html;
}

TEST(AllocationFigures, OtherFilesHaveNone) {
  const test::ScratchFolder folder;
  test::write_run(folder / "results.h5", {});
  std::vector<Figure> figures;
  add_allocation_figures(read_results({folder / "results.h5"}).studies.at(0), figures);
  EXPECT_TRUE(figures.empty());
}

TEST(AllocationFigures, ValuesThatNoShareHasAreRefused) {
  const test::ScratchFolder folder;
  TableGroup longer = example(), backwards = example(), nowhere = example();
  longer.tables["intervals"].integers["ranks"].push_back(1);
  backwards.tables["intervals"].reals["end_s"][1] = -1;
  nowhere.tables["intervals"].integers["first_rank"][0] = -1;
  TableGroup shorter = example(), endless = example();
  for (TableGroup* group : {&shorter, &endless}) {
    group->tables["baselines"].text = {{"policy", {"equal"}}, {"reason", {""}}};
    group->tables["baselines"].reals = {{"predicted_s", {1}}, {"low_s", {1}}, {"high_s", {1}}};
  }
  shorter.tables["baselines"].text["reason"].clear();
  endless.tables["baselines"].reals["high_s"][0] = INFINITY;
  for (const TableGroup& group : {longer, backwards, nowhere, shorter, endless}) {
    const std::string path = write_share(folder, group);
    const std::string message = test::message_of<DataError>([&] { ResultsFile::open(path).allocation(); });
    EXPECT_NE(message.find("/allocation is damaged"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace multicard::post
