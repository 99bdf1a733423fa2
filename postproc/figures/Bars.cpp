#include "postproc/figures/Bars.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

Bar bar_of(const Study& study, const Cell& cell, const Estimate& value) {
  const std::string label = drawn_label(study, cell);
  if (cell.status != CellStatus::complete) return crossed_bar(cell, label);
  Bar bar;
  bar.label = label;
  bar.segments = {{value.value, colour_of(study, cell), ""}};
  bar.interval = error_bar(value);
  bar.hover = origin_of(study, cell);
  bar.note = significant(value.value, 3);
  return bar;
}

/// The cells of `configurations` on the drawn ranks that have a bar.
std::vector<const Cell*> barred_cells(const Study& study, const std::vector<std::size_t>& configurations,
                                      const CellBars& what) {
  std::vector<const Cell*> cells;
  for (const std::size_t configuration : configurations)
    for (const int ranks : drawn_ranks(study))
      if (const Cell* cell = study.cell(configuration, ranks);
          cell && (cell->status != CellStatus::complete || what.of(*cell).known()))
        cells.push_back(cell);
  return cells;
}

/// Of the phases of a step, in the order of kPhaseNames: warm colours for waiting, cool ones for working.
constexpr std::array<const char*, kNumPhases> kPhaseColours{"#E8B04A", "#F2DC6B", "#A9D2EE", "#6BAAD8",
                                                            "#EE8F5E", "#7FCBB0", "#B9BDC2"};

}  // namespace

Segment phase_segment(std::size_t phase, double value, std::string text) {
  return {value, kPhaseColours[phase], std::move(text)};
}

std::vector<std::pair<std::string, std::string>> phase_legend() {
  std::vector<std::pair<std::string, std::string>> legend;
  for (std::size_t p = 0; p < kNumPhases; ++p) {
    const bool is_wait = p == static_cast<std::size_t>(Phase::reduce_wait);
    legend.emplace_back(kPhaseColours[p], is_wait ? "collectives" : spaced(kPhaseNames[p]));
  }
  return legend;
}

std::vector<int> drawn_ranks(const Study& study) {
  // The extremes show scaling best where all numbers of ranks would need several figures.
  const std::size_t bars = study.configurations.size() * study.rank_counts.size();
  if (bars <= kMostBars || study.rank_counts.size() < 3) return study.rank_counts;
  return {study.rank_counts.front(), study.rank_counts.back()};
}

std::string drawn_label(const Study& study, const Cell& cell) {
  const std::string label = study.configuration(cell).full_label();
  return drawn_ranks(study).size() > 1 ? label + ", " + counted(cell.ranks, "rank") : label;
}

void add_cell_bars(const Study& study, const CellBars& what, std::vector<Figure>& figures) {
  const std::vector<int> ranks = drawn_ranks(study);
  int number = 0;
  for (const auto& piece : pieces(all_configurations(study), std::max<std::size_t>(1, kMostBars / ranks.size()))) {
    const std::vector<const Cell*> cells = barred_cells(study, piece, what);
    if (std::ranges::none_of(cells, [](const Cell* cell) { return cell->status == CellStatus::complete; })) continue;
    BarChart chart;
    for (const Cell* cell : cells)
      chart.bars.push_back(bar_of(study, *cell, what.of(*cell)));
    chart.subtitle = fmt::format("{}{}. {}", common_settings(study, piece), what.amount, reading_aid(study, cells));
    chart.x_name = what.x_name;
    figures.push_back(
        figure_of(numbered(what.id, number++), Section::study, what.title, chart, what.caption, what.heading));
  }
}

std::string bar_label(const Study& study, const Cell& cell, const std::vector<const Cell*>& cells) {
  const std::string& label = study.configuration(cell).label;
  std::string ranks = counted(cell.ranks, "rank");
  const auto same = [&](auto member) {
    return std::ranges::all_of(cells, [&](const Cell* other) { return other->*member == cell.*member; });
  };
  if (same(&Cell::configuration)) return ranks;
  return same(&Cell::ranks) ? label : fmt::format("{}, {}", label, ranks);
}

Bar crossed_bar(const Cell& cell, const std::string& label) {
  Bar bar;
  bar.label = label;
  bar.note = text_of(cell.status);
  bar.status = BarStatus::failed;
  return bar;
}

std::string colour_of(const Study& study, const Cell& cell) {
  return LineStyle(style_of(study, cell.configuration)).line_colour();
}

std::vector<std::vector<const Cell*>> cells_in_pieces(const Study& study, const std::vector<std::size_t>& group,
                                                      std::size_t most) {
  std::vector<const Cell*> all, last;
  for (const std::size_t configuration : group) {
    const auto cells = study.cells_of(configuration);
    all.insert(all.end(), cells.begin(), cells.end());
    last.push_back(cells.back());
  }
  return pieces(all.size() <= most ? all : last, kMostBars);
}

std::string on_ranks(const std::vector<const Cell*>& cells) {
  const std::string first = ranks_text(*cells.front());
  const bool are_alike = std::ranges::all_of(cells, [&](const Cell* cell) { return ranks_text(*cell) == first; });
  return are_alike ? ", " + first : std::string();
}

}  // namespace multicard::post
