#include "postproc/figures/Lines.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "postproc/figures/Figures.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

/// Sizes 100 to 300 in two precisions on 1 and 2 ranks: a step takes 1 ms and 1 ms for each (100 px)^2 over the ranks,
/// of 10 rows; fp16 takes half of that.
std::vector<RunReport> sizes() {
  std::vector<RunReport> runs;
  for (const int ranks : {2, 1})
    for (const int size : {300, 100, 200})
      for (const char* precision : {"fp32", "fp16"}) {
        const double work = 0.001 * size * size / 10000 * (std::string(precision) == "fp16" ? 0.5 : 1);
        runs.push_back(run_of({{"data.image_size", std::to_string(size)}, {"precision", precision}}, ranks,
                              10 / (0.001 + work / ranks)));
      }
  return runs;
}

const Figure& figure(const std::vector<Figure>& figures, const std::string& id) {
  return *std::find_if(figures.begin(), figures.end(), [&](const Figure& candidate) { return candidate.id == id; });
}

TEST(Lines, FollowOneAxisWithEverythingElseEqual) {
  const Study study = study_of(sizes());

  const std::vector<Line> lines = lines_along(study, "data.image_size");

  ASSERT_EQ(lines.size(), 4u);
  for (const Line& line : lines) {
    ASSERT_EQ(line.points.size(), 3u);
    EXPECT_EQ(line.points[0].first, 100);
    EXPECT_EQ(line.points[2].first, 300);
    EXPECT_GT(line.points[0].second->rate.value, line.points[2].second->rate.value);
  }
  EXPECT_EQ(lines[0].others.at("ranks"), "1");
  EXPECT_EQ(label_of(lines[3], lines), "fp16, 2 ranks");
  EXPECT_EQ(in_common(lines), "");
}

TEST(Lines, ArePartedBySettingsWhereTheyAreMany) {
  const std::vector<Line> lines = lines_along(study_of(sizes()), "data.image_size");

  const auto panels = panels_of(lines, 3);

  ASSERT_EQ(panels.size(), 2u);
  for (const auto& panel : panels) {
    ASSERT_EQ(panel.size(), 2u);
    EXPECT_EQ(panel[0].others.at("precision"), panel[1].others.at("precision"));
  }
  EXPECT_EQ(label_of(panels[0][1], panels[0]), "2 ranks");
  EXPECT_EQ(in_common(panels[0]), "fp32");
  EXPECT_EQ(panels_of(lines, 4).size(), 1u);
}

TEST(Lines, OnlyNumbersAreAnAxisOfThem) {
  EXPECT_TRUE(is_numeric({"model.width", {"0.25", "1"}, true}));
  EXPECT_FALSE(is_numeric({"parallel.bucket_mb", {"auto", "5"}, false}));
}

TEST(SizeFigures, SayWhatIsFastestAndWhereRanksPay) {
  std::vector<Figure> figures;
  add_size_figures(study_of(sizes()), figures);

  ASSERT_EQ(figures.size(), 2u);
  // 300 px in fp16 on 2 ranks: 1 ms + 9 ms / 2 / 2 = 3.25 ms for 10 rows.
  EXPECT_EQ(figures[0].title, "The fastest at 300 px: fp16, 2 ranks, 0.325 s for 1,000 rows");
  EXPECT_EQ(figures[0].heading, "Execution time and efficiency against image size");
  // fp32: 100 px (2 ms / 1.5 ms) / 2 = 0.667; 300 px (10 / 5.5) / 2 = 0.909; 200 px (5 / 3) / 2 = 0.833.
  const Figure& efficiency = figure(figures, "efficiency-image_size");
  EXPECT_EQ(efficiency.title, "Efficiency with fp32 rises from 0.67 at 100 px to 0.91 at 300 px");
  EXPECT_EQ(efficiency.caption, "With fp32 it stays at 0.8 or more from 200 px on.");
}

TEST(SizeFigures, FailedSizesAreCrosses) {
  std::vector<RunReport> runs = sizes();
  runs[0].status = "failed";  // 300 px, fp32 on 2 ranks
  std::vector<Figure> figures;

  add_size_figures(study_of(runs), figures);

  EXPECT_NE(figures[0].subtitle.find("× failed or stopped"), std::string::npos);
  EXPECT_NE(figures[0].drawing.script.find("with points pt 2"), std::string::npos);
}

TEST(HeatFigures, ShowTheBestOfWhatTheyDoNotName) {
  std::vector<Figure> figures;
  add_heat_figures(study_of(sizes()), HeatAxes{"image_size", "ranks"}, figures);

  ASSERT_EQ(figures.size(), 1u);
  // fp16, 100 px: 10 rows in 1 + 0.5 / 2 ms, and in 1.5 ms; fp32 would be 6,667 and 5,000.
  EXPECT_NE(figures[0].drawing.script.find("'8000'"), std::string::npos);
  EXPECT_NE(figures[0].drawing.script.find("'6667'"), std::string::npos);
  EXPECT_NE(figures[0].subtitle.find("the best of precision"), std::string::npos);
}

TEST(HeatFigures, ByDefaultTakeTheAxesWithTheMostValues) {
  std::vector<Figure> figures;
  add_heat_figures(study_of(sizes()), std::nullopt, figures);

  ASSERT_EQ(figures.size(), 1u);
  EXPECT_NE(figures[0].subtitle.find("image size across, precision down"), std::string::npos);
}

TEST(ScalingFigures, TheSameOptionsOnOtherWorkAreLinesOfOneFigure) {
  std::vector<RunReport> runs = sizes();
  std::erase_if(runs, [](const RunReport& run) { return run.settings.at("precision") == "fp16"; });
  std::vector<Figure> figures;

  add_scaling_figures(study_of(runs), figures);

  ASSERT_EQ(figures.size(), 3u);
  EXPECT_EQ(figures[0].id, "time");
  // 300 px: 10 ms for 10 rows on one rank, 5.5 ms on two.
  EXPECT_EQ(figures[0].title, "300 px: 0.550 (0.539–0.561) s for 1,000 rows on 2 ranks, 1.000 (0.980–1.020) s on 1");
  EXPECT_EQ(figures[1].title, "300 px: 1.82 times as fast on 2 ranks as on 1 (1.77–1.87)");
}

}  // namespace
}  // namespace multicard::post
