#pragma once
/// \file What the axes of a line chart show.

#include "postproc/draw/AxisRange.hpp"
#include "postproc/draw/LineChart.hpp"

namespace multicard::post {

/// Steps and quantities begin at 0; counts and values of settings do not.
bool is_from_zero(Horizontal horizontal);

/// Counts of ranks are on a logarithmic axis, where room at both ends is a factor; elsewhere it is a share of the
/// range.
AxisRange x_range(const LineChart& chart);

/// All values, the ideal up to `last_x`, and of intervals what lies within a quarter above the largest value: those of
/// two repeats can be very wide.
AxisRange y_range(const LineChart& chart, double last_x);

}  // namespace multicard::post
