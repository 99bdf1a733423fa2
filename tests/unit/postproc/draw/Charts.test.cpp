// What charts do where something does not fit.

#include <gtest/gtest.h>

#include "base/Estimate.hpp"
#include "postproc/draw/BarChart.hpp"
#include "postproc/draw/HeatMap.hpp"
#include "postproc/draw/LineChart.hpp"

namespace multicard::post {
namespace {

bool has(const Drawing& drawing, const std::string& text) {
  return drawing.script.find(text) != std::string::npos;
}

Bar bar_with(double value, ErrorBar interval) {
  Bar bar;
  bar.label = "a bar";
  bar.segments = {{value, "#0072B2", ""}};
  bar.interval = interval;
  bar.note = "a note";
  return bar;
}

TEST(BarChart, EndsAnIntervalThatGoesOnWithAnArrow) {
  BarChart chart;
  chart.bars = {bar_with(100, {80, 120}), bar_with(50, {40, 60})};
  EXPECT_FALSE(has(chart.drawing(), "with vectors"));

  chart.bars.push_back(bar_with(90, {70, 500}));
  EXPECT_TRUE(has(chart.drawing(), "with vectors head filled"));
  EXPECT_TRUE(has(chart.drawing(), "with xerrorbars"));
}

TEST(BarChart, KeepsNotesOffTheReference) {
  // The bar ends just before 1, where the dashed line would go through the note.
  BarChart chart;
  chart.bars = {bar_with(0.97, {0.9, 1}), bar_with(1.2, {1.1, 1.3})};
  for (Bar& bar : chart.bars)
    bar.interval.reset();
  const Drawing without = chart.drawing();
  chart.reference = 1;
  const Drawing with = chart.drawing();

  const auto first_note = [](const Drawing& drawing) {
    const std::size_t at = drawing.script.find("'a note'");
    return drawing.script.substr(at, drawing.script.find('\n', at) - at);
  };
  EXPECT_NE(first_note(with), first_note(without));
}

TEST(BarChart, ValuesStandInOneColumnWhereThereAreIntervals) {
  BarChart chart;
  chart.bars = {bar_with(100, {80, 120}), bar_with(50, {40, 60})};
  const std::string script = chart.drawing().script;

  const auto across = [&](std::size_t from) {
    const std::size_t at = script.find("'a note' at screen ", from) + std::string("'a note' at screen ").size();
    return script.substr(at, script.find(',', at) - at);
  };
  EXPECT_EQ(across(0), across(script.find("'a note'") + 1));
}

TEST(BarChart, WhatFailedIsAStripAndHasNoPlaceOnTheAxis) {
  BarChart chart;
  chart.bars = {bar_with(100, {80, 120}), {"tf32", {}, {}, "failed", BarStatus::failed}};
  const Drawing drawing = chart.drawing();

  EXPECT_TRUE(has(drawing, "set object rectangle"));
  ASSERT_EQ(drawing.tips.size(), 2U);
  EXPECT_EQ(drawing.tips[1].text, "tf32: failed");
  EXPECT_GT(drawing.tips[1].width, 100) << "over the whole width";
}

LineChart lines_with(double high, std::size_t num_series) {
  LineChart chart;
  chart.ticks = {1, 2};
  for (std::size_t i = 0; i < num_series; ++i)
    chart.series.push_back({"a long label that takes more than one line at the end of its series",
                            i,
                            {{1, 100, std::nullopt}, {2, 50, ErrorBar{40, high}}},
                            {}});
  return chart;
}

TEST(LineChart, EndsAnIntervalThatGoesOnWithAnArrow) {
  EXPECT_FALSE(has(lines_with(60, 1).drawing(), "with vectors"));
  EXPECT_TRUE(has(lines_with(600, 1).drawing(), "with vectors head filled"));
}

TEST(LineChart, IsAsHighAsItsLabels) {
  const double few = lines_with(60, 2).drawing().height, many = lines_with(60, 8).drawing().height;

  EXPECT_GT(many, 8 * 3 * 16);
  EXPECT_EQ(lines_with(60, 1).drawing().height, few);
}

TEST(LineChart, ShowsTheLargestQuantity) {
  LineChart chart;
  chart.horizontal = Horizontal::quantity;
  chart.series = {{"one", 0, {{0.8, 100, std::nullopt}}, {}}, {"other", 1, {{3.5812345678, 50, std::nullopt}}, {}}};
  EXPECT_TRUE(has(chart.drawing(), "set xrange [0:4]"));

  chart.series[1].points[0].x = 0.41;
  chart.series[0].points[0].x = 0.3;
  EXPECT_TRUE(has(chart.drawing(), "set xrange [0:0.5]"));
}

TEST(LineChart, ReachesAsFarAsTheOtherPanels) {
  LineChart chart;
  chart.horizontal = Horizontal::quantity;
  chart.series = {{"one", 0, {{0.8, 100, std::nullopt}}, {}}};
  chart.other_panels = {{3.6, 900, std::nullopt}};
  const Drawing drawing = chart.drawing();

  EXPECT_TRUE(has(drawing, "set xrange [0:4]"));
  EXPECT_TRUE(has(drawing, "set yrange [0:1000]"));
  EXPECT_EQ(chart.data().rows.size(), 1U);
}

TEST(HeatMap, BreaksTheNamesOfColumns) {
  HeatMap map;
  map.rows = {"a row"};
  map.columns = {"unconverted gradients", "bf16 gradients", "short"};
  map.cells = {{{HeatCellKind::value, 1, "1.00"}, {HeatCellKind::value, 0.5, "0.50"}, {}}};

  const Drawing drawing = map.drawing();

  EXPECT_FALSE(has(drawing, "'unconverted gradients'"));
  EXPECT_TRUE(has(drawing, "'unconverted'"));
  map.columns = {"plain", "bf16", "short"};
  EXPECT_EQ(map.drawing().height + 16, drawing.height);
}

}  // namespace
TEST(LineChart, WhatHasNoValueStandsInAStripBeyondTheWorseEnd) {
  LineChart chart = lines_with(2, 1);
  const double height = chart.drawing().height;
  chart.series[0].crosses = {{chart.ticks.back(), kNone, std::nullopt, {}}};
  const Drawing below = chart.drawing();
  chart.crosses = Crosses::on_top;
  const Drawing on_top = chart.drawing();

  ASSERT_FALSE(below.tips.empty());
  EXPECT_TRUE(has(below, "'failed'"));
  EXPECT_GT(below.tips.back().y, height / 2);
  EXPECT_LT(on_top.tips.back().y, height / 2);
}

}  // namespace multicard::post
