#include "postproc/draw/LineChart.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Estimate.hpp"
#include "base/Text.hpp"
#include "postproc/draw/LineRanges.hpp"
#include "postproc/draw/Palette.hpp"

namespace multicard::post {

namespace {

constexpr double kPlotHeight = 250;
constexpr double kLabelWidth = 118;
constexpr double kDodge = 1.02;  ///< factor between series at one count, so that error bars do not hide each other
/// The same for linear_values, as a share of the distance from the first value to the last.
constexpr double kLinearDodge = 0.018;
constexpr const char* kIdeal = "ideal";
constexpr double kStripHeight = 24;            ///< of what has no value
constexpr const char* kUnmeasured = "failed";  ///< the name of that strip
constexpr std::size_t kMostTips = 60;          ///< of a line

bool has_value(const Point& point) {
  return std::isfinite(point.y);
}

bool has_strip(const LineChart& chart) {
  return std::ranges::any_of(chart.series, [](const Series& series) {
    return std::ranges::any_of(series.crosses, [](const Point& cross) { return !has_value(cross); });
  });
}

/// Places in a plot: its axis, and beyond one end of that the strip of what has no value.
struct Places {
  AxisRange x, y;
  Area area;         ///< of what has values
  double strip = 0;  ///< the middle of the strip; 0 without one

  double across(double value) const { return area.left + x.share(value) * area.width(); }
  double down(double value) const { return area.bottom - y.share(value) * area.height(); }
  double down(const Point& point) const { return has_value(point) ? down(point.y) : strip; }
};

std::vector<std::string> label_lines(const Series& series) {
  return wrapped(series.label, kLabelWidth, Canvas::kFontSize);
}

/// Each label at the height of its line's last point; of a series of crosses alone at that of the last cross.
std::vector<EndLabel> end_labels(const LineChart& chart, const Places& places, double last_x, const Area& whole) {
  std::vector<EndLabel> labels;
  for (const Series& series : chart.series)
    if (!series.points.empty() || !series.crosses.empty())
      labels.push_back({label_lines(series),
                        places.down(series.points.empty() ? series.crosses.back() : series.points.back()),
                        series.style});
  if (chart.ideal) labels.push_back({{kIdeal}, places.down(chart.ideal(last_x)), std::nullopt});
  push_apart(labels, whole);
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

double tick_room(const LineChart& chart, const AxisRange& y) {
  double widest = has_strip(chart) ? text_width(kUnmeasured, Canvas::kFontSize) : 0;
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

/// `whole` is the area with the strip, over which gnuplot's axis continues without ticks.
void draw_axes(Canvas& canvas, const LineChart& chart, const Places& places, const Area& whole) {
  const auto& [x, y, area, strip] = places;
  canvas.text(2, whole.top - 16, chart.y_name, Align::left, Ink::faint);
  canvas.text((area.left + area.right) / 2, whole.bottom + 36, chart.x_name, Align::centre, Ink::faint);
  canvas.command("set grid ytics lc rgb '#808080' dt 1");
  canvas.command(fmt::format("set xrange [{:.8g}:{:.8g}]", x.low, x.high));
  canvas.command(fmt::format("set yrange [{:.8g}:{:.8g}]", y.at((area.bottom - whole.bottom) / area.height()),
                             y.at((area.bottom - whole.top) / area.height())));
  if (strip > 0) {
    canvas.rectangle(area.left, strip - kStripHeight / 2, area.width(), kStripHeight, kStrip);
    canvas.text(area.left - 8, strip, kUnmeasured, Align::right, Ink::faint);
  }
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

/// "nhwc at 2 (ranks): 0.5 (0.2–0.9) (speedup), run 0003"
std::string tip_of(const LineChart& chart, const Series& series, const Point& point) {
  if (!point.hover.empty()) return point.hover;
  const std::string at = fmt::format("{}, {} {}: ", series.label, chart.x_name, significant(point.x, 6));
  if (!has_value(point)) return at + kUnmeasured;
  std::string value = significant(point.y);
  if (point.interval)
    value += fmt::format(" ({}–{})", significant(point.interval->low), significant(point.interval->high));
  return at + value + (series.origin.empty() ? "" : ", " + series.origin);
}

/// What a pointer shows at the points, which stand where draw_series() puts them but for the little that parts series.
/// Of long curves at some of them.
void add_tips(Canvas& canvas, const LineChart& chart, const Places& places) {
  for (const Series& series : chart.series) {
    const std::size_t every = series.points.size() / kMostTips + 1;
    for (std::size_t i = 0; i < series.points.size(); i += every) {
      const Point& point = series.points[i];
      canvas.tip(places.across(point.x), places.down(point), tip_of(chart, series, point));
    }
    for (const Point& cross : series.crosses)
      canvas.tip(places.across(cross.x), places.down(cross), tip_of(chart, series, cross));
  }
}

/// A line with its points, error bars and crosses. At counts and values of settings series stand side by side around
/// their true place; over steps and quantities they are not moved.
void draw_series(Canvas& canvas, const LineChart& chart, std::size_t index, const Places& places) {
  const Series& series = chart.series[index];
  const AxisRange& y = places.y;
  const std::string colour = series.style.line_colour();
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
    crosses.push_back({at(point.x), has_value(point)
                                        ? std::clamp(point.y, bottom, top)
                                        : y.at((places.area.bottom - places.strip) / places.area.height())});
  canvas.intervals(bars, Along::y, colour);
  // Dashes distinguish curves over steps, which may lie on each other; elsewhere markers do.
  const std::string with =
      chart.markers == Markers::on
          ? fmt::format("with linespoints lw 2 dt {} pt {} ps 0.7",
                        is_from_zero(chart.horizontal) || series.style.variant > 0 ? series.style.dash() : "1",
                        series.style.marker())
          : fmt::format("with lines lw 2 dt {}", series.style.dash());
  if (!line.empty()) canvas.plot(fmt::format("{} lc rgb '{}'", with, colour), line);
  if (!crosses.empty()) canvas.plot(fmt::format("with points pt 2 ps 1 lw 2.5 lc rgb '{}'", colour), crosses);
}

}  // namespace

Drawing LineChart::drawing() const {
  Canvas canvas(title, subtitle);
  AxisRange x = x_range(*this);
  x.is_logarithmic = horizontal == Horizontal::log2_counts;
  const double last_x = is_from_zero(horizontal) ? x.high : ticks.back();
  const AxisRange y = y_range(*this, last_x);
  const double top = canvas.content_top() + 28;
  const Area whole{tick_room(*this, y), top, Canvas::kWidth - label_room(*this), top + plot_height(*this)};
  Places places{x, y, whole, 0};
  if (has_strip(*this)) {
    const bool is_on_top = crosses == Crosses::on_top;
    (is_on_top ? places.area.top : places.area.bottom) += is_on_top ? kStripHeight : -kStripHeight;
    places.strip = is_on_top ? whole.top + kStripHeight / 2 : whole.bottom - kStripHeight / 2;
  }
  canvas.area(whole);
  draw_axes(canvas, *this, places, whole);
  draw_labels(canvas, end_labels(*this, places, last_x, whole), markers, whole);
  draw_ideal(canvas, *this, y);
  for (std::size_t i = 0; i < series.size(); ++i)
    draw_series(canvas, *this, i, places);
  add_tips(canvas, *this, places);
  return canvas.finished(whole.bottom + 52);
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
