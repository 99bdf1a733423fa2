#pragma once
/// \file Helpers of the bar charts of cells.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "postproc/draw/BarChart.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

inline constexpr std::size_t kMostBars = 18;

/// The label of a cell among `cells`: only what differs, if anything does.
std::string bar_label(const Study& study, const Cell& cell, const std::vector<const Cell*>& cells);

/// \name Phases of a step, by their number in kPhaseNames
/// @{
/// Part of a stacked bar.
Segment phase_segment(std::size_t phase, double value, std::string text);
/// Colours and names; reduce_wait is shown as what is waited for.
std::vector<std::pair<std::string, std::string>> phase_legend();
/// @}

/// The bar of a cell that did not complete.
Bar crossed_bar(const Cell& cell, const std::string& label);

/// The colour of a cell's configuration.
std::string colour_of(const Study& study, const Cell& cell);

/// The cells of `group` for stacked bars, at most kMostBars together: all, or where those are more than `most` only
/// each configuration's on most ranks.
std::vector<std::vector<const Cell*>> cells_in_pieces(const Study& study, const std::vector<std::size_t>& group,
                                                      std::size_t most);

/// What the bars of cells show.
struct CellBars {
  std::string id, x_name;
  Finding title;
  std::string caption, heading;
  std::string amount;  ///< what the subtitle adds to the settings that all have in common
  std::function<Estimate(const Cell& cell)> of;
};

/// A bar for each cell that completed with a known value, and a cross for those that did not complete: a figure for
/// each kMostBars of them. Where they would be many, only those on the fewest and on the most ranks.
void add_cell_bars(const Study& study, const CellBars& what, std::vector<Figure>& figures);

/// The numbers of ranks that add_cell_bars() draws.
std::vector<int> drawn_ranks(const Study& study);

/// The full label of a cell's configuration; with the number of ranks where several are drawn.
std::string drawn_label(const Study& study, const Cell& cell);

/// ", 8 ranks" where all cells have as many, for a subtitle.
std::string on_ranks(const std::vector<const Cell*>& cells);

}  // namespace multicard::post
