#pragma once
/// \file Lines with markers, error bars and labels at their ends.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "postproc/draw/Canvas.hpp"
#include "postproc/draw/ChartData.hpp"
#include "postproc/draw/EndLabels.hpp"
#include "postproc/draw/Palette.hpp"

namespace multicard::post {

struct Point {
  double x = 0, y = 0;
  std::optional<ErrorBar> interval;
  std::string hover = {};  ///< what a pointer on the point shows; where it is empty, its numbers
};

struct Series {
  std::string label;
  LineStyle style;
  std::vector<Point> points;
  std::vector<Point> crosses;  ///< failed or stopped runs; y is NaN where nothing was measured
  std::string origin = {};     ///< what a pointer says after the numbers of a point: the run
};

enum class Horizontal {
  log2_counts,    ///< logarithmic, a tick at each of `ticks`
  linear_values,  ///< from the first to the last of `ticks`, each with its number
  linear,         ///< from 0 to the last point, of whole numbers such as steps
  quantity        ///< from 0 to a tick right of all points
};
enum class Vertical {
  from_zero,
  fitted,      ///< around the points
  logarithmic  ///< the same; of positive values
};
/// Where the strip is for crosses of what has no value: beyond the end of the axis that looks worse.
enum class Crosses { below, on_top };

struct LineChart {
  std::string title, subtitle, x_name, y_name;
  std::vector<Series> series;
  std::vector<Point> other_panels = {};  ///< not drawn, but both axes reach as far as there
  Horizontal horizontal = Horizontal::log2_counts;
  Vertical vertical = Vertical::from_zero;
  Markers markers = Markers::on;
  Crosses crosses = Crosses::below;
  double least_step = 0;                ///< between ticks of a fitted axis
  std::vector<double> ticks;            ///< of log2_counts and linear_values, ascending
  std::function<double(double)> ideal;  ///< the ideal curve, dashed; may be empty. Needs ticks

  /// Names stand at the line ends, pushed apart where they would touch.
  Drawing drawing() const;
  /// series, x, y, low, high, status: complete or unfinished (a cross), whose y is unknown where it has none.
  ChartData data() const;
};

}  // namespace multicard::post
