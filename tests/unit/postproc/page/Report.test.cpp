#include "postproc/page/Report.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "SyntheticStudy.hpp"
#include "base/Error.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/page/Json.hpp"
#include "postproc/page/PageParts.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/page/Tables.hpp"
#include "postproc/study/Collection.hpp"
#include "runs_in_memory.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t number = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size()))
    ++number;
  return number;
}

/// The synthetic sweep, written once: every file is brought to the disk, which takes its time.
const Collection& collection() {
  static const Collection read = [] {
    const test::ScratchFolder folder;
    test::write_sweep(folder / "results.h5");
    return read_results({folder / "results.h5"});
  }();
  return read;
}

const Study& sweep() {
  return collection().studies.at(0);
}

TEST(Report, FiguresTakeTheColoursOfThePage) {
  std::vector<Figure> figures = plan_figures(sweep());

  draw(Gnuplot(), figures);

  ASSERT_FALSE(figures.empty());
  for (const Figure& figure : figures) {
    SCOPED_TRACE(figure.id);
    const std::string head = figure.svg.substr(0, figure.svg.find('>'));
    EXPECT_NE(head.find("viewBox"), std::string::npos);
    EXPECT_EQ(head.find(" width="), std::string::npos);
    EXPECT_EQ(count(figure.svg, "'black'") + count(figure.svg, "\"black\"") + count(figure.svg, "white"), 0u);
    EXPECT_GT(count(figure.svg, "currentColor"), 5u);
    EXPECT_GT(count(figure.svg, "<text>"), 5u);
    EXPECT_EQ(count(figure.svg, "id='gpPt"), 0u);
  }
}

TEST(Report, ASweepHasAllKindsOfFigures) {
  std::vector<std::string> ids;
  for (const Figure& figure : plan_figures(sweep()))
    ids.push_back(figure.id);

  for (const char* id : {"time", "speedup", "efficiency", "comparison", "options", "train_loss", "eval_accuracy",
                         "phases", "memory", "ranks", "ranks-2"})
    EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 1) << id;
}

TEST(Report, FailedRunsAreCrosses) {
  std::vector<Figure> figures = plan_figures(sweep());
  draw(Gnuplot(), figures);

  const auto time =
      std::find_if(figures.begin(), figures.end(), [](const Figure& figure) { return figure.id == "time"; });
  ASSERT_NE(time, figures.end());
  EXPECT_EQ(count(time->svg, "<use xlink:href='#time-pt1'"), 1u);  // gnuplot's point type 2
}

TEST(Report, IsOneFileWithoutNetworkAndHoldsEveryRun) {
  const test::ScratchFolder folder;
  const Study& study = sweep();

  const std::string path = write_report(collection(), folder / "out", Gnuplot());

  const std::string page = content_of(path);
  EXPECT_EQ(path, folder / "out/report.html");
  EXPECT_LT(page.size(), 2'000'000u);
  EXPECT_EQ(count(page, "src="), 0u);
  EXPECT_EQ(count(page, "<link"), 0u);
  EXPECT_EQ(count(page, "http://") - count(page, "http://www.w3.org/"), 0u);
  EXPECT_EQ(count(page, "https://"), 0u);
  for (const RunReport& run : study.runs)
    EXPECT_NE(page.find("<td>" + run.name + "</td>"), std::string::npos) << run.name;
  EXPECT_NE(page.find("<h1>The fastest of 2 configurations is ddp-ds on 4 ranks"), std::string::npos);
  EXPECT_EQ(count(page, "The fastest of 2 configurations"), 2u) << "in the title of window and page, nowhere else";
  EXPECT_EQ(count(page, "<figure id=\"speedup\">"), 1u);
  EXPECT_LT(page.find("<figure id=\"speedup\">"), page.find("<section id=\"setup\"")) << "it shows the answer";
  EXPECT_NE(page.find("download=\"speedup.csv\""), std::string::npos);
  EXPECT_NE(page.find("<title>ddp-ds on 4 ranks: "), std::string::npos) << "what a pointer shows at a point";
  EXPECT_NE(page.find("<td>all_reduce</td>"), std::string::npos);
  EXPECT_NE(page.find("out of memory (an allocation on the host failed)"), std::string::npos);
  std::size_t at = 0;
  for (const char* id : {"answer", "setup", "advice", "study", "step", "memory", "ranks", "runs", "provenance"}) {
    const std::size_t next = page.find("<section id=\"" + std::string(id) + "\"");
    EXPECT_GT(next, at) << id;
    ASSERT_NE(next, std::string::npos) << id;
    at = next;
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "out/time.svg"));
}

TEST(Report, HostileTextsStayText) {
  const test::ScratchFolder folder;
  test::SyntheticRun run;
  run.strategy = "<script>alert(1)</script>'`touch x`";
  run.status = "stopped";
  run.error = "a \"quoted\", comma & <b>";
  test::write_run(folder / "results.h5", run);

  const std::string page = content_of(write_report(read_results({folder / "results.h5"}), folder / "out", Gnuplot()));

  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(1)"), std::string::npos);
}

TEST(Report, WithoutGnuplotThereIsAReportThatSaysSo) {
  const test::ScratchFolder folder;

  const std::string path = write_report(collection(), folder / "out", Gnuplot("gnuplot-that-is-not-installed"));

  EXPECT_NE(content_of(path).find("gnuplot was not found"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "out/time.svg"));
}

TEST(Report, AFolderThatCannotBeIsADataError) {
  const test::ScratchFolder folder;
  std::ofstream(folder / "file") << "no folder";

  EXPECT_THROW(write_report(collection(), folder / "file/out", Gnuplot()), DataError);
}

TEST(Report, NothingButFailuresIsStillAReport) {
  const test::ScratchFolder folder;
  test::SyntheticRun run;
  run.status = "failed";
  run.error = "no GPU";
  assemble_results(folder / "results.h5", {}, test::synthetic_provenance(2), {test::summary_of(run)});

  const std::string page = content_of(write_report(read_results({folder / "results.h5"}), folder / "out", Gnuplot()));

  EXPECT_NE(page.find("<h1>The run failed: no GPU</h1>"), std::string::npos);
}

TEST(Tables, CsvHasALineARunAndQuotesWhatNeedsIt) {
  Collection changed = collection();
  changed.studies[0].runs[1].error = "a \"b\", c";

  const std::string csv = runs_csv(changed);

  EXPECT_EQ(count(csv, "\n"), 19u);
  EXPECT_EQ(csv.substr(0, csv.find(',')), "file");
  EXPECT_NE(csv.find(",\"a \"\"b\"\", c\"\n"), std::string::npos);
}

TEST(Tables, CsvHasNothingThatSpreadsheetsCompute) {
  Collection changed = collection();
  changed.studies[0].runs[0].error = "=HYPERLINK(1)";
  changed.studies[0].runs[1].error = "+1, @SUM(A1)";
  changed.studies[0].runs[2].error = "-1.5e3";

  const std::string csv = runs_csv(changed);

  EXPECT_NE(csv.find(",'=HYPERLINK(1)\n"), std::string::npos);
  EXPECT_NE(csv.find(",\"'+1, @SUM(A1)\"\n"), std::string::npos);
  EXPECT_NE(csv.find(",-1.5e3\n"), std::string::npos);  // a number
}

TEST(Tables, JsonHoldsTheNumbersAndNullForWhatIsUnknown) {
  const Study& study = sweep();

  const auto json = nlohmann::json::parse(summary_json(collection(), plan_figures(collection())));

  const auto& described = json["studies"][0];
  ASSERT_EQ(described["configurations"].size(), 2u);
  const auto& cells = described["configurations"][1]["cells"];
  EXPECT_EQ(cells[2]["ranks"], 4);
  EXPECT_DOUBLE_EQ(cells[2]["rate_per_s"]["value"], study.cell(1, 4)->rate.value);
  EXPECT_EQ(cells[2]["rate_per_s"]["interval_over"], "repeats");
  EXPECT_TRUE(cells[0]["speedup"]["interval_95"].is_null());
  EXPECT_TRUE(described["runs"][1]["rate_per_s"]["value"].is_null());
  EXPECT_EQ(described["runs"][1]["status"], "failed");
}

TEST(Tables, AllSayWhenARunEndedEarly) {
  Collection changed = collection();
  Study& study = changed.studies[0];
  study.runs[0].early_stop_step = 12;
  study = make_study(study.sources, study.runs, study.keys);

  const std::string csv = runs_csv(changed), page = table(runs_table(study));
  const auto described = nlohmann::json::parse(summary_json(changed, plan_figures(changed)))["studies"][0];

  EXPECT_NE(csv.find(",status,early_stop_step,"), std::string::npos);
  EXPECT_NE(csv.find(",complete,12,"), std::string::npos);
  EXPECT_NE(page.find("complete, early after step 12"), std::string::npos);
  EXPECT_NE(terminal_table(changed, std::nullopt).find("evaluate.patience): after step 12."), std::string::npos);
  EXPECT_EQ(described["runs"][0]["early_stop_step"], 12);
  EXPECT_TRUE(described["runs"][2]["early_stop_step"].is_null());
}

TEST(Tables, CellsAndOptionsHaveTheirIntervals) {
  const Study& study = sweep();
  const Cell& cell = *study.cell(1, 4);

  const std::string cells = cells_csv(collection()), options = options_csv(collection());

  EXPECT_EQ(count(cells, "\n"), 7u);
  EXPECT_NE(cells.find(fmt::format(",repeats,{:.9g},{:.9g},{:.9g},{:.9g},", cell.rate.value, cell.rate.interval->low,
                                   cell.rate.interval->high, 1000 / cell.rate.value)),
            std::string::npos);
  EXPECT_EQ(count(options, "\n"), 2u);
  EXPECT_NE(options.find("\n1,parallel.strategy,ddp-ds,ddp,"), std::string::npos);
}

TEST(Report, SeveralStudiesAreSectionsOfTheirOwn) {
  const test::ScratchFolder folder;
  Collection two = collection();
  two.studies.push_back(two.studies[0]);
  two.studies[0].id = "study-1";
  two.studies[1].id = "study-2";
  two.notices = {"These are quick runs <of a kind>."};

  const std::string page = content_of(write_report(two, folder / "out", Gnuplot()));

  EXPECT_NE(page.find("<section id=\"study-2\">"), std::string::npos);
  EXPECT_EQ(count(page, "<figure id=\"study-2-time\">"), 1u);
  EXPECT_NE(page.find("<p class=\"warning\">These are quick runs &lt;of a kind&gt;.</p>"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(folder / "out/study-1-efficiency.svg"));
  EXPECT_EQ(count(runs_csv(two), "\n"), 37u);
}

TEST(Report, AnEvaluationAloneIsAReportOfItsClasses) {
  const test::ScratchFolder folder;
  for (const int num_classes : {3, 30}) {
    const std::string file = folder / fmt::format("{}.h5", num_classes);
    test::write_evaluation(file, num_classes);

    const std::string page = content_of(write_report(read_results({file}), folder / "out", Gnuplot()));

    EXPECT_NE(page.find("<section id=\"evaluation\">"), std::string::npos);
    EXPECT_NE(page.find("<td>kind 2</td>"), std::string::npos);
    EXPECT_EQ(count(page, "<figure id=\"confusion\">"), 1u);
    EXPECT_EQ(page.find("<section id=\"memory\">"), std::string::npos);
  }
}

TEST(Report, AnEvaluationOfALanguageModelShowsItsScoresAndNoStepTables) {
  const test::ScratchFolder folder;
  test::write_language_evaluation(folder / "eval.h5");
  const Collection evaluated = read_results({folder / "eval.h5"});
  const std::string scores =
      "Test loss 1.43, perplexity 4.179 over 110 sequences (13,412 tokens, 2,803 of them targets); exact match 3 of "
      "50, "
      "6.0 % (95 % interval 2.1 % to 16.2 %).";

  const std::string page = content_of(write_report(evaluated, folder / "out", Gnuplot()));
  const auto json = nlohmann::json::parse(summary_json(evaluated, plan_figures(evaluated)))["evaluations"][0];

  EXPECT_EQ(terminal_table(evaluated),
            "story-1M, results/story/checkpoints/step_00000030/adapter_model.safetensors: " + scores + "\n");
  EXPECT_NE(page.find(">3 of 50, 6.0 % (95 % interval 2.1 % to 16.2 %)<"), std::string::npos);
  EXPECT_NE(page.find("path: /data/models/story-1M"), std::string::npos);  // the deck
  for (const char* section : {"study", "step", "memory", "ranks", "runs"})
    EXPECT_EQ(page.find(fmt::format("<section id=\"{}\">", section)), std::string::npos) << section;
  EXPECT_FALSE(std::filesystem::exists(folder / "out/runs.csv"));
  EXPECT_EQ(json["loss"], 1.43);
  EXPECT_EQ(json["tokens"], 13412);
  EXPECT_EQ(json["sequences"], 110);
  EXPECT_EQ(json["exact_match"]["value"], 0.06);
}

TEST(Report, WhatIsNotCalledResultsHasAFolderOfItsOwn) {
  EXPECT_EQ(default_folder("out/results.h5"), "out");
  EXPECT_EQ(default_folder("results.h5"), ".");
  EXPECT_EQ(default_folder("out/eval.h5"), "out/eval_report");
  EXPECT_EQ(default_folder("eval.h5"), "./eval_report");
}

TEST(Report, WhatWasRunHoldsTheSettingsOfTheTuningFromTheDeck) {
  RunReport run = run_of({{"task", "llm"}, {"pin_memory", "1"}, {"device", "cpu (8 threads)"}}, 2, 100);
  run.deck =
      "method:\n  name: lora\n  rank: 8\n  alpha: 16\n  targets: [q_proj, v_proj]\ndata:\n  packing: true\n"
      "optimizer:\n  learning_rate: 0.002\n";
  RunReport on_gpu = run;
  on_gpu.settings["device"] = "cuda:0";

  const std::string html = setup_html(collection_of(study_of({run})));

  for (const char* part : {"LoRA rank</dt><dd>8<", "LoRA alpha</dt><dd>16<", "targets</dt><dd>[q_proj, v_proj]<",
                           "packing</dt><dd>true<", "learning rate</dt><dd>0.002<"})
    EXPECT_NE(html.find(part), std::string::npos) << part << html;
  EXPECT_EQ(html.find("pinned"), std::string::npos);
  EXPECT_NE(setup_html(collection_of(study_of({on_gpu}))).find("pinned"), std::string::npos);
}

TEST(Tables, WaitingForSlowerRanksIsNoNegativeOverlap) {
  RunReport run = run_of({}, 2, 100);
  run.communication["all_reduce"] = {1, 8, 8, 0.4, 0.5};  // waited for longer than it took
  run.communication["broadcast"] = {1, 8, 8, 0.4, 0.1};

  const std::string html = communication_html(study_of({run}));

  EXPECT_NE(html.find("0.0 %"), std::string::npos) << html;
  EXPECT_NE(html.find("75.0 %"), std::string::npos) << html;
}

TEST(Report, PdfsComeWhenTheyAreAskedFor) {
  const test::ScratchFolder folder;

  write_report(collection(), folder / "out", Gnuplot(), {std::nullopt, Formats::svg_and_pdf});

  for (const char* name : {"time", "comparison", "ranks-2"})
    EXPECT_EQ(content_of(folder / ("out/" + std::string(name) + ".pdf")).substr(0, 5), "%PDF-") << name;
}

TEST(Report, TheHeatMapIsOfTheAxesAskedFor) {
  const test::ScratchFolder folder;
  ReportOptions options;
  options.heat = HeatAxes{"ranks", "strategy"};
  write_report(collection(), folder / "out", Gnuplot(), options);
  const std::string svg = content_of(folder / "out/heat.svg");

  EXPECT_NE(svg.find("ddp-ds"), std::string::npos);
  EXPECT_NE(svg.find("2 ranks"), std::string::npos);
  options.heat = HeatAxes{"ranks", "precision"};  // which did not differ
  EXPECT_THROW(write_report(collection(), folder / "out", Gnuplot(), options), UsageError);
  options.heat = HeatAxes{"ranks", "ranks"};
  EXPECT_THROW(write_report(collection(), folder / "out", Gnuplot(), options), UsageError);
}

TEST(Tables, TheTerminalTableIsAligned) {
  std::istringstream lines(terminal_table(collection()));

  std::string head, first;
  std::getline(lines, head);
  std::getline(lines, first);
  EXPECT_EQ(head.find("ranks") + 4, first.find('1'));
  EXPECT_EQ(head.substr(0, 13), "configuration");
}

}  // namespace
}  // namespace multicard::post
