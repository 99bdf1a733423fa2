#pragma once
/// \file Ratios as dots with error bars on a logarithmic axis around 1: half as much is as far from it as twice.

#include <optional>
#include <string>
#include <vector>

#include "postproc/draw/Canvas.hpp"
#include "postproc/draw/ChartData.hpp"

namespace multicard::post {

struct Dot {
  std::string label, colour;
  std::optional<double> value;  ///< positive; none is a cross
  std::optional<ErrorBar> interval;
  std::string note;                 ///< text in the right margin
  std::string hover;                ///< what a pointer on the dot shows
  std::optional<double> mark = {};  ///< a hollow diamond: what the value is compared with
};

/// What the ticks say of a ratio: itself, or the change, −20 % of 0.8.
enum class Ticks { ratios, changes };

struct DotChart {
  std::string title, subtitle, x_name;
  Ticks ticks = Ticks::ratios;
  std::vector<Dot> dots;  ///< from top to bottom, one at least with a value

  Drawing drawing() const;
  /// bar, part (empty), value, low, high, status: complete or unfinished; the columns of a BarChart.
  ChartData data() const;
};

}  // namespace multicard::post
