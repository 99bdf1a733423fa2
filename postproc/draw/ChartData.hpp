#pragma once
/// \file What a figure shows, as a table.

#include <string>
#include <variant>
#include <vector>

namespace multicard::post {

/// A name, or a number in full digits; NaN for what is not known.
using ChartValue = std::variant<std::string, double>;

/// One row for each thing that is drawn: a point, a segment of a bar, a box, a square.
struct ChartData {
  std::vector<std::string> columns;
  std::vector<std::vector<ChartValue>> rows;
};

}  // namespace multicard::post
