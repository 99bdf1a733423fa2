#include "postproc/draw/LineRanges.hpp"

#include <algorithm>
#include <cmath>

namespace multicard::post {

namespace {

constexpr double kSpread = 1.12;  ///< factor of the room left of the first count and right of the last
constexpr double kMargin =
    0.06;  ///< the same of linear_values, as a share of the distance from the first value to the last

/// Calls `visit(point)` for all points and crosses, and for those of the other panels.
template <class Visit>
void each_point(const LineChart& chart, Visit visit) {
  for (const Point& point : chart.other_panels)
    visit(point);
  for (const Series& series : chart.series) {
    for (const Point& point : series.points)
      visit(point);
    for (const Point& point : series.crosses)
      visit(point);
  }
}

/// Points, intervals and the ideal with room around them. Intervals are cut at half the smallest and twice the largest
/// value.
AxisRange log_range(const LineChart& chart) {
  double least = 1e300, most = 0, low = 1e300, high = 0;
  const auto include = [&](double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  };
  each_point(chart, [&](const Point& point) {
    if (!std::isfinite(point.y) || point.y <= 0) return;
    include(point.y);
    if (!point.interval) return;
    low = std::min(low, point.interval->low);
    high = std::max(high, point.interval->high);
  });
  if (chart.ideal)
    for (const double tick : {chart.ticks.front(), chart.ticks.back()})
      include(chart.ideal(tick));
  least = std::min(least, std::max(low, least / 2));
  most = std::max(most, std::min(high, 2 * most));
  return {least / kSpread, most * kSpread, 0, true};
}

}  // namespace

bool is_from_zero(Horizontal horizontal) {
  return horizontal == Horizontal::linear || horizontal == Horizontal::quantity;
}

AxisRange x_range(const LineChart& chart) {
  if (chart.horizontal == Horizontal::log2_counts) {
    const auto [least, most] = std::ranges::minmax_element(chart.ticks);
    return {*least / kSpread, *most * kSpread, 1};
  }
  if (chart.horizontal == Horizontal::linear_values) {
    const double first = chart.ticks.front(), last = chart.ticks.back();
    const double room = kMargin * (last > first ? last - first : std::max(1.0, std::abs(last)));
    return {first - room, last + room, 1};
  }
  double largest = 0;
  each_point(chart, [&](const Point& point) { largest = std::max(largest, point.x); });
  const Scale scale = scale_for(largest);
  if (chart.horizontal == Horizontal::quantity) return {0, scale.max, scale.step};
  const double step = scale.step;
  // Steps are whole numbers: no ticks at 2.5.
  const double whole_step = step < 1 ? 1 : step == 2.5 ? 5 : step;
  return {0, std::max(largest, 1.0), whole_step};
}

AxisRange y_range(const LineChart& chart, double last_x) {
  if (chart.vertical == Vertical::logarithmic) return log_range(chart);
  double largest = 0, smallest = 1e300, highest = 0;
  each_point(chart, [&](const Point& point) {
    // Crosses of failed runs have no height.
    if (!std::isfinite(point.y)) return;
    largest = std::max(largest, point.y);
    smallest = std::min(smallest, point.y);
    highest = std::max(highest, point.interval ? point.interval->high : point.y);
  });
  if (chart.ideal) largest = std::max({largest, chart.ideal(chart.ticks.front()), chart.ideal(last_x)});
  largest = std::max(largest, std::min(highest, 1.25 * largest));
  if (chart.vertical == Vertical::from_zero) {
    const Scale scale = scale_for(largest);
    return {0, scale.max, scale.step};
  }
  // The ticks of a difference of nothing: a thousandth of the value, so that equal values are a flat line in the
  // middle.
  const double step =
      std::max(chart.least_step, scale_for(std::max(largest - smallest, 1e-3 * std::abs(largest) + 1e-12)).step);
  const double low = step * std::floor(smallest / step), high = step * std::ceil(largest / step);
  return high > low ? AxisRange{low, high, step} : AxisRange{low - step, high + step, step};
}

}  // namespace multicard::post
