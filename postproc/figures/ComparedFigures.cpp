#include "postproc/figures/ComparedFigures.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/DotChart.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/figures/Bars.hpp"
#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

namespace {

Dot dot_of(const ComparedCell& cell) {
  Dot dot;
  dot.label = cell.label;
  dot.colour = cell.is_measurable() ? kColours[0] : kPlain;
  dot.value = cell.rate_ratio.value;
  dot.interval = error_bar(cell.rate_ratio);
  dot.note = alike(cell.rate_ratio.value, cell.rate_ratio.value, 3);
  dot.hover = fmt::format("{}: {} times the rate of A", cell.label, with_interval(cell.rate_ratio, 3));
  return dot;
}

/// \param cells  whose ratios of rates are known
void add_rate_figures(const std::vector<const ComparedCell*>& cells, std::vector<Figure>& figures) {
  const auto measurable = std::ranges::count_if(cells, [](const ComparedCell* cell) { return cell->is_measurable(); });
  int number = 0;
  for (const std::vector<const ComparedCell*>& piece : pieces(cells, kMostBars)) {
    DotChart chart;
    for (const ComparedCell* cell : piece)
      chart.dots.push_back(dot_of(*cell));
    chart.subtitle = "The rate of B over that of A, each configuration, 95 % intervals";
    chart.x_name = "times the rate of A";
    const Finding title{fmt::format("{} of {} configurations differ measurably", measurable, cells.size()),
                        {{"measurable", measurable}, {"configurations", cells.size()}}};
    figures.push_back(figure_of(numbered("compared-rates", number++), Section::study, title, chart, {}));
  }
}

/// The mean step of one side, by phases in the order of a step.
Bar step_bar(const ComparedCell& cell, const char* label, Estimate ComparedNumber::*side) {
  Bar bar;
  bar.label = label;
  const double whole = (cell.mean_step.*side).value;
  for (std::size_t p = 0; p < kNumPhases; ++p) {
    const auto phase = std::ranges::find(cell.phases, kPhaseNames[p], &ComparedPhase::name);
    if (phase == cell.phases.end()) continue;
    const double seconds = ((*phase).*side).value;
    bar.segments.push_back(phase_segment(p, 1000 * seconds, fmt::format("{:.0f} %", 100 * seconds / whole)));
  }
  bar.note = significant(1000 * whole, 3) + " ms";
  return bar;
}

void add_step_figure(const ComparedCell& cell, std::vector<Figure>& figures) {
  BarChart chart;
  chart.bars = {step_bar(cell, "A", &ComparedNumber::a), step_bar(cell, "B", &ComparedNumber::b)};
  chart.legend = phase_legend();
  chart.subtitle = cell.label + ". Mean over ranks and measured steps";
  chart.x_name = "ms per step";
  const double a = 1000 * cell.mean_step.a.value, b = 1000 * cell.mean_step.b.value;
  const Finding title{fmt::format("A step takes {} ms in A and {} ms in B", significant(a, 3), significant(b, 3)),
                      {{"a", a}, {"b", b}}};
  figures.push_back(figure_of("compared-steps", Section::phases, title, chart, "In the bars: % of the step."));
}

}  // namespace

std::vector<Figure> figures_of(const Comparison& comparison) {
  std::vector<Figure> figures;
  std::vector<const ComparedCell*> cells;
  for (const ComparedCell& cell : comparison.cells)
    if (cell.is_measured() && cell.rate_ratio.known()) cells.push_back(&cell);
  if (cells.size() > 1) add_rate_figures(cells, figures);
  if (const ComparedCell* most = most_changed(comparison)) add_step_figure(*most, figures);
  return figures;
}

}  // namespace multicard::post
