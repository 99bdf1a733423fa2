#pragma once
/// \file Curves in a terminal.

#include <cstddef>
#include <string>
#include <vector>

namespace multicard {

enum class Characters {
  braille,  ///< Unicode's dots, 2 x 4 in a character
  ascii
};

struct PlotPoint {
  double x = 0, y = 0;
};

/// What the environment's locale (LC_ALL, LC_CTYPE, LANG) can show.
Characters characters_of_locale();

/// `rows` lines of `columns` characters with the curve through the points, which are in ascending order of x; those
/// whose y is not finite are left out. The first line is at `high`, the last at `low`.
std::vector<std::string> curve(const std::vector<PlotPoint>& points, std::size_t columns, std::size_t rows, double low,
                               double high, Characters characters);

/// The same with its own limits, which stand in front of the first and the last line; `title` is a line above.
std::vector<std::string> plot(const std::string& title, const std::vector<PlotPoint>& points, std::size_t columns,
                              std::size_t rows, Characters characters);

}  // namespace multicard
