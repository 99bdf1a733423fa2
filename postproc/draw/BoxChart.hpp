#pragma once
/// \file Box plots side by side.

#include <array>
#include <string>
#include <vector>

#include "postproc/draw/Canvas.hpp"
#include "postproc/draw/ChartData.hpp"

namespace multicard::post {

enum class Mark { none, marked };

struct BoxColumn {
  std::string label;
  std::array<double, 5> percentiles{};  ///< 5th, 25th, 50th, 75th and 95th
  Mark mark = Mark::none;
  std::string hover = {};  ///< what a pointer says after the percentiles
};

struct BoxChart {
  std::string title, subtitle, x_name, y_name;
  std::vector<BoxColumn> columns;
  double limit = 1;  ///< a dashed line
  std::string limit_name;

  /// Boxes from the 25th to the 75th percentile with the median, whiskers from the 5th to the 95th.
  /// The axis is fitted to the data and does not start at zero.
  Drawing drawing() const;
  /// column, p5, p25, p50, p75, p95, marked (0 or 1).
  ChartData data() const;
};

}  // namespace multicard::post
