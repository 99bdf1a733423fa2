#include "postproc/draw/BoxChart.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/Canvas.hpp"
#include "postproc/draw/Gnuplot.hpp"
#include "postproc/draw/Palette.hpp"

namespace multicard::post {

namespace {

constexpr double kPlotHeight = 260;
/// Columns are one unit apart, at 0, 1, 2, …
constexpr double kHalfBox = 0.3;  ///< columns
constexpr const char* kColour = "#9FB8C8";
constexpr const char* kMarkedColour = "#D9822B";

struct Range {
  double low = 0, high = 1, step = 1;
};

/// From below the lowest to above the highest whisker, the limit included; a fifth of a step on top leaves room for the
/// name of the limit.
Range range_of(const BoxChart& chart) {
  double low = chart.limit, high = chart.limit;
  for (const BoxColumn& column : chart.columns) {
    low = std::min(low, column.percentiles.front());
    high = std::max(high, column.percentiles.back());
  }
  // Values are ratios near 1: without a least range, equal ranks would give steps of 0.
  const double step = scale_for(std::max(high - low, 0.01)).step;
  return {step * std::floor(low / step), step * std::ceil(high / step + 0.2), step};
}

/// The boxes of columns with this mark. The rows of gnuplot's styles: x, y, then the ends (x, x, y, y of boxxyerror).
void draw(Canvas& canvas, const BoxChart& chart, Mark mark, const char* colour) {
  std::vector<std::vector<double>> bodies, whiskers, medians;
  for (std::size_t i = 0; i < chart.columns.size(); ++i) {
    if (chart.columns[i].mark != mark) continue;
    const std::array<double, 5>& box = chart.columns[i].percentiles;
    const auto x = static_cast<double>(i);
    bodies.push_back({x, box[2], x - kHalfBox, x + kHalfBox, box[1], box[3]});
    whiskers.push_back({x, box[2], box[0], box[4]});
    medians.push_back({x, box[2], kHalfBox});
  }
  if (bodies.empty()) return;
  // Whiskers first, so that boxes cover their middle; medians last, on top.
  canvas.plot("with yerrorbars pt 0 lw 1.5 lc rgb 'black'", whiskers);
  canvas.plot(fmt::format("with boxxyerror fs solid 1 noborder lc rgb '{}'", colour), bodies);
  canvas.plot("with xerrorbars pt 0 lw 2 lc rgb '#111111'", medians);
}

void draw_axes(Canvas& canvas, const BoxChart& chart, const Range& y, const Area& area) {
  canvas.text(2, area.top - 16, chart.y_name, Align::left, Ink::faint);
  canvas.text((area.left + area.right) / 2, area.bottom + 36, chart.x_name, Align::centre, Ink::faint);
  canvas.command(fmt::format("set xrange [-0.6:{}]", static_cast<double>(chart.columns.size()) - 0.4));
  canvas.command(fmt::format("set yrange [{:.8g}:{:.8g}]", y.low, y.high));
  canvas.command(fmt::format("set ytics {:.8g} scale 0", y.step));
  canvas.command("set grid ytics lc rgb '#808080' dt 1\nset bars 0");
  double widest = 0;
  for (const BoxColumn& column : chart.columns)
    widest = std::max(widest, text_width(column.label, Canvas::kFontSize) + 4);
  // Where labels would overlap, only every second, third, … is shown.
  const double room = area.width() / static_cast<double>(chart.columns.size());
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(widest / room)));
  std::vector<std::string> ticks;
  for (std::size_t i = 0; i < chart.columns.size(); i += every)
    ticks.push_back(fmt::format("{} {}", quoted(chart.columns[i].label), i));
  canvas.command("set xtics (" + join(ticks, ", ") + ") scale 0");
}

}  // namespace

Drawing BoxChart::drawing() const {
  Canvas canvas(title, subtitle);
  const Range y = range_of(*this);
  const double top = canvas.content_top() + 28;
  const Area area{56, top, Canvas::kWidth - text_width(limit_name, Canvas::kFontSize) - 20, top + kPlotHeight};
  canvas.area(area);
  draw_axes(canvas, *this, y, area);
  const double right = static_cast<double>(columns.size()) - 0.4;
  canvas.plot(fmt::format("with lines lw 1.5 dt (6,5) lc rgb '{}'", kFaint), {{-0.6, limit}, {right, limit}});
  canvas.text(area.right + 10, area.bottom - (limit - y.low) / (y.high - y.low) * area.height(), limit_name);
  draw(canvas, *this, Mark::none, kColour);
  draw(canvas, *this, Mark::marked, kMarkedColour);
  const double width = area.width() / static_cast<double>(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& p = columns[i].percentiles;
    canvas.tip(area.left + static_cast<double>(i) * width, area.top, width, area.height(),
               fmt::format("{} {}: median {}, 25–75 % {}–{}, 5–95 % {}–{}{}", x_name, columns[i].label,
                           significant(p[2], 3), significant(p[1], 3), significant(p[3], 3), significant(p[0], 3),
                           significant(p[4], 3), columns[i].hover.empty() ? "" : "; " + columns[i].hover));
  }
  return canvas.finished(area.bottom + 52);
}

ChartData BoxChart::data() const {
  ChartData out{{"column", "p5", "p25", "p50", "p75", "p95", "marked"}, {}};
  for (const BoxColumn& column : columns) {
    const auto& p = column.percentiles;
    out.rows.push_back({column.label, p[0], p[1], p[2], p[3], p[4], column.mark == Mark::marked ? 1.0 : 0.0});
  }
  return out;
}

}  // namespace multicard::post
