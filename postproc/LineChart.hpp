#pragma once
/// \file Lines with markers, error bars and names at their ends.

#include <optional>
#include <string>
#include <vector>

#include "postproc/Canvas.hpp"
#include "postproc/EndLabels.hpp"
#include "postproc/Statistics.hpp"

namespace multicard::post {

struct Point {
  double x = 0, y = 0;
  std::optional<Interval> interval;
};

struct Series {
  std::string label;
  std::size_t style = 0;  ///< index of colour, marker and dash
  std::vector<Point> points;
  std::vector<Point> crosses;  ///< failed or stopped runs
};

enum class Horizontal { log2_counts, linear };
enum class Vertical { from_zero, fitted };

struct LineChart {
  std::string title, subtitle, x_name, y_name;
  std::vector<Series> series;
  Horizontal horizontal = Horizontal::log2_counts;
  Vertical vertical = Vertical::from_zero;
  Markers markers = Markers::on;
  std::vector<double> ticks;           ///< of log2_counts
  std::optional<double> ideal_slope;   ///< y = slope x, dashed
  std::optional<double> ideal_height;  ///< y = height, dashed

  /// Names stand at the line ends, pushed apart where they would touch.
  Drawing drawing() const;
};

}  // namespace multicard::post
