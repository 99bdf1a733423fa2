#pragma once
/// \file Horizontal bars, plain or stacked, with error bars and labels of any length.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "postproc/draw/Canvas.hpp"
#include "postproc/draw/ChartData.hpp"

namespace multicard::post {

struct Segment {
  double value = 0;
  std::string colour;  ///< empty: a gap
  std::string text;    ///< shown where it fits
};

enum class BarStatus { complete, failed };

struct Bar {
  std::string label;
  std::vector<Segment> segments;
  std::optional<ErrorBar> interval;  ///< of the whole bar
  std::string note;                  ///< text after the bar
  BarStatus status = BarStatus::complete;
  std::string hover = {};  ///< what a pointer on the bar shows, after the part that it is on
};

struct BarChart {
  std::string title, subtitle, x_name;
  std::vector<Bar> bars;
  std::vector<std::pair<std::string, std::string>> legend;  ///< colour and name
  std::optional<double> reference;                          ///< a dashed line at this value

  /// The axis starts at zero; a failed bar is a strip over the whole width.
  Drawing drawing() const;
  /// bar, part (the legend's name of its colour), value, low, high, status: complete or unfinished. The interval is of
  /// the whole bar; gaps are parts without a name.
  ChartData data() const;
};

}  // namespace multicard::post
