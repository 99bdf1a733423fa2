#include "postproc/draw/LineChart.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Estimate.hpp"
#include "base/Text.hpp"
#include "postproc/draw/AxisRange.hpp"
#include "postproc/draw/Palette.hpp"

namespace multicard::post {

namespace {

constexpr double kPlotHeight = 250;
constexpr double kLabelWidth = 118;
constexpr double kSpread = 1.12;  ///< factor of the room left of the first count and right of the last
constexpr double kDodge = 1.02;   ///< factor between series at one count, so that error bars do not hide each other
/// The same for linear_values, as shares of the distance from the first value to the last.
constexpr double kMargin = 0.06, kLinearDodge = 0.006;
constexpr const char* kIdeal = "ideal";

/// Calls `visit(point)` for all points and crosses.
template <class Visit>
void each_point(const LineChart& chart, Visit visit) {
  for (const Series& series : chart.series) {
    for (const Point& point : series.points)
      visit(point);
    for (const Point& point : series.crosses)
      visit(point);
  }
}

/// Steps and quantities begin at 0; counts and values of settings do not.
bool is_from_zero(Horizontal horizontal) {
  return horizontal == Horizontal::linear || horizontal == Horizontal::quantity;
}

/// Counts of ranks are on a logarithmic axis, where room at both ends is a factor; elsewhere it is a share of the
/// range.
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

/// Intervals are cut at a quarter above the largest value: those of two repeats can be very wide.
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

std::vector<std::string> label_lines(const Series& series) {
  return wrapped(series.label, kLabelWidth, Canvas::kFontSize);
}

/// Each label at the height of its line's last point; of a series of crosses alone at the edge where they are.
std::vector<EndLabel> end_labels(const LineChart& chart, const AxisRange& y, double last_x, const Area& area) {
  const auto pixel = [&](double value) { return area.bottom - y.share(value) * area.height(); };
  const double unmeasured = chart.crosses == Crosses::on_top ? y.high : y.low;
  std::vector<EndLabel> labels;
  for (const Series& series : chart.series)
    if (!series.points.empty() || !series.crosses.empty())
      labels.push_back(
          {label_lines(series), pixel(series.points.empty() ? unmeasured : series.points.back().y), series.style});
  if (chart.ideal) labels.push_back({{kIdeal}, pixel(chart.ideal(last_x)), std::nullopt});
  push_apart(labels, area);
  return labels;
}

/// Large enough for all labels below each other.
double plot_height(const LineChart& chart) {
  double labels = chart.ideal ? 2 * EndLabel{{kIdeal}, 0, std::nullopt}.half_height() : 0;
  for (const Series& series : chart.series)
    labels += 2 * EndLabel{label_lines(series), 0, std::nullopt}.half_height();
  return std::max(kPlotHeight, labels);
}

/// The widest label with the piece of line before it.
double label_room(const LineChart& chart) {
  double widest = 40;
  for (const Series& series : chart.series)
    widest = std::max(widest, widest_of(label_lines(series)));
  return widest + 42;
}

std::size_t style_of(const Series& series) {
  return series.style % kColours.size();
}

double tick_room(const AxisRange& y) {
  double widest = 0;
  for (const double tick : y.ticks())
    widest = std::max(widest, text_width(significant(tick, 6), Canvas::kFontSize));
  return widest + 16;
}

/// The dashed ideal curve between the first and the last tick.
void draw_ideal(Canvas& canvas, const LineChart& chart, const AxisRange& y) {
  if (!chart.ideal) return;
  constexpr int kPieces = 64;
  const double first = chart.ticks.front(), last = chart.ticks.back();
  std::vector<std::vector<double>> line;
  for (int i = 0; i <= kPieces; ++i) {
    // Equal factors: evenly spaced on the logarithmic axis, where curves are drawn most often.
    const double x = first * std::pow(last / first, static_cast<double>(i) / kPieces);
    const double value = chart.ideal(x);
    if (value >= y.low && value <= y.high) line.push_back({x, value});
  }
  canvas.plot(fmt::format("with lines lw 1.5 dt (6,5) lc rgb '{}'", kFaint), line);
}

void draw_axes(Canvas& canvas, const LineChart& chart, const AxisRange& x, const AxisRange& y, const Area& area) {
  canvas.text(2, area.top - 16, chart.y_name, Align::left, Ink::faint);
  canvas.text((area.left + area.right) / 2, area.bottom + 36, chart.x_name, Align::centre, Ink::faint);
  canvas.command("set grid ytics lc rgb '#808080' dt 1");
  canvas.command(fmt::format("set xrange [{:.8g}:{:.8g}]", x.low, x.high));
  canvas.command(fmt::format("set yrange [{:.8g}:{:.8g}]", y.low, y.high));
  if (y.is_logarithmic) canvas.command("set logscale y");
  std::vector<std::string> ticks;
  for (const double value : y.ticks())
    ticks.push_back(fmt::format("'{}' {:.8g}", significant(value, 6), value));
  canvas.command("set ytics (" + join(ticks, ", ") + ") scale 0");
  if (is_from_zero(chart.horizontal)) return canvas.command(fmt::format("set xtics 0,{:.8g}", x.step));
  ticks.clear();
  for (const double tick : chart.ticks)
    ticks.push_back(fmt::format("'{}' {:.8g}", significant(tick, 6), tick));
  if (chart.horizontal == Horizontal::log2_counts) canvas.command("set logscale x 2");
  canvas.command("set xtics (" + join(ticks, ", ") + ")");
}

/// What a pointer shows at the points, which stand where draw_series() puts them but for the little that parts series.
void add_tips(Canvas& canvas, const LineChart& chart, const AxisRange& x, const AxisRange& y, const Area& area) {
  const AxisRange across{x.low, x.high, x.step, chart.horizontal == Horizontal::log2_counts};
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      canvas.tip(area.left + across.share(point.x) * area.width(), area.bottom - y.share(point.y) * area.height(),
                 point.hover);
}

/// A line with its points, error bars and crosses. At counts and values of settings series stand side by side around
/// their true place; over steps and quantities they are not moved.
void draw_series(Canvas& canvas, const LineChart& chart, std::size_t index, const AxisRange& y) {
  const Series& series = chart.series[index];
  const std::size_t style = style_of(series);
  const double place = static_cast<double>(index) - (static_cast<double>(chart.series.size()) - 1) / 2;
  const auto at = [&](double x) {
    if (chart.horizontal == Horizontal::log2_counts) return x * std::pow(kDodge, place);
    if (is_from_zero(chart.horizontal)) return x;
    return x + kLinearDodge * place * (chart.ticks.back() - chart.ticks.front());
  };
  std::vector<std::vector<double>> line, crosses;
  std::vector<ShownInterval> bars;
  for (const Point& point : series.points) {
    line.push_back({at(point.x), point.y});
    if (!point.interval) continue;
    const auto [low, high] = *point.interval;
    const bool cut_low = low < y.low;
    const bool cut_high = high > y.high;
    bars.push_back({at(point.x), std::max(low, y.low), std::min(high, y.high), cut_low, cut_high});
  }
  // On an edge a cross would be half hidden.
  const double bottom = y.at(0.03), top = y.at(0.97);
  for (const Point& point : series.crosses)
    crosses.push_back({at(point.x), std::isfinite(point.y)             ? std::clamp(point.y, bottom, top)
                                    : chart.crosses == Crosses::on_top ? top
                                                                       : bottom});
  canvas.intervals(bars, Along::y, kColours[style]);
  // Dashes distinguish curves over steps, which may lie on each other; elsewhere markers do.
  const std::string with = chart.markers == Markers::on
                               ? fmt::format("with linespoints lw 2 dt {} pt {} ps 0.7",
                                             is_from_zero(chart.horizontal) ? kDashes[style] : "1", kMarkers[style])
                               : fmt::format("with lines lw 2 dt {}", kDashes[style]);
  if (!line.empty()) canvas.plot(fmt::format("{} lc rgb '{}'", with, kColours[style]), line);
  if (!crosses.empty()) canvas.plot(fmt::format("with points pt 2 ps 1 lw 2.5 lc rgb '{}'", kColours[style]), crosses);
}

}  // namespace

Drawing LineChart::drawing() const {
  Canvas canvas(title, subtitle);
  const AxisRange x = x_range(*this);
  const double last_x = is_from_zero(horizontal) ? x.high : ticks.back();
  const AxisRange y = y_range(*this, last_x);
  const double top = canvas.content_top() + 28;
  const Area area{tick_room(y), top, Canvas::kWidth - label_room(*this), top + plot_height(*this)};
  canvas.area(area);
  draw_axes(canvas, *this, x, y, area);
  draw_labels(canvas, end_labels(*this, y, last_x, area), markers, area);
  draw_ideal(canvas, *this, y);
  for (std::size_t i = 0; i < series.size(); ++i)
    draw_series(canvas, *this, i, y);
  add_tips(canvas, *this, x, y, area);
  return canvas.finished(area.bottom + 52);
}

ChartData LineChart::data() const {
  ChartData out{{"series", "x", "y", "low", "high", "status"}, {}};
  const auto add = [&](const Series& one, const Point& point, const char* status) {
    const auto [low, high] = point.interval.value_or(ErrorBar{kNone, kNone});
    out.rows.push_back({one.label, point.x, point.y, low, high, std::string(status)});
  };
  for (const Series& one : series) {
    for (const Point& point : one.points)
      add(one, point, "complete");
    for (const Point& point : one.crosses)
      add(one, point, "unfinished");
  }
  return out;
}

}  // namespace multicard::post
