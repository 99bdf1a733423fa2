#pragma once
/// \file Helpers of the bar charts of cells.

#include <string>
#include <vector>

#include "postproc/draw/BarChart.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

inline constexpr std::size_t kMostBars = 18;

/// "phases", "phases-2", … for number 0, 1, …
std::string numbered(const std::string& id, int number);

/// The label of a cell among `cells`: only what differs, if anything does.
std::string bar_label(const Study& study, const Cell& cell, const std::vector<const Cell*>& cells);

/// The bar of a cell that did not complete.
Bar crossed_bar(const Cell& cell, const std::string& label);

/// The cells of `group` for stacked bars, at most kMostBars together: all, or where those are many only each
/// configuration's on most ranks.
std::vector<std::vector<const Cell*>> cells_in_pieces(const Study& study, const std::vector<std::size_t>& group);

/// ", 8 ranks" where all cells have as many, for a subtitle.
std::string on_ranks(const std::vector<const Cell*>& cells);

}  // namespace multicard::post
