#include "postproc/BoxChart.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Canvas.hpp"
#include "postproc/Gnuplot.hpp"
#include "postproc/Palette.hpp"

namespace multicard::post {

namespace {

constexpr double kPlotHeight = 260;
constexpr const char* kOuterColour = "#999999";
constexpr const char* kInnerColour = "#0072B2";
constexpr const char* kMarkedColour = "#D55E00";

/// x and half the width of a box, in columns.
struct Place {
  double x = 0, half = 0;
};

/// Box, whiskers and median of one kind of box.
void draw(Canvas& canvas, const std::vector<std::pair<Place, Box>>& boxes, const std::string& colour) {
  if (boxes.empty()) return;
  std::vector<std::vector<double>> body, whiskers, medians;
  for (const auto& [place, box] : boxes) {
    body.push_back({place.x, box[2], place.x - place.half, place.x + place.half, box[1], box[3]});
    whiskers.push_back({place.x, box[2], box[0], box[4]});
    medians.push_back({place.x, box[2], place.half});
  }
  canvas.plot(fmt::format("with yerrorbars pt 0 lw 1.5 lc rgb '{}'", colour), whiskers);
  canvas.plot(fmt::format("with boxxyerror fs solid 1 noborder lc rgb '{}'", colour), body);
  canvas.plot("with xerrorbars pt 0 lw 2 lc rgb 'black'", medians);
}

Scale scale_of(const BoxChart& chart) {
  double highest = 0;
  for (const BoxColumn& column : chart.columns)
    highest = std::max({highest, column.outer[4], column.inner[4]});
  return scale_for(highest);
}

void draw_axes(Canvas& canvas, const BoxChart& chart, const Scale& scale, const Area& area) {
  canvas.text(2, area.top - 16, chart.y_name, Align::left, Ink::faint);
  canvas.text((area.left + area.right) / 2, area.bottom + 36, chart.x_name, Align::centre, Ink::faint);
  canvas.command(fmt::format("set xrange [-0.6:{}]", static_cast<double>(chart.columns.size()) - 0.4));
  canvas.command(fmt::format("set yrange [0:{:.8g}]\nset ytics 0,{:.8g} scale 0", scale.max, scale.step));
  canvas.command("set grid ytics lc rgb '#808080' dt 1\nset bars 0");
  std::vector<std::string> ticks;
  for (std::size_t i = 0; i < chart.columns.size(); ++i)
    ticks.push_back(fmt::format("{} {}", quoted(chart.columns[i].label), i));
  canvas.command("set xtics (" + join(ticks, ", ") + ") scale 0");
}

}  // namespace

std::string BoxChart::script() const {
  Canvas canvas(title, subtitle);
  std::vector<std::pair<Place, Box>> outer, inner, marked;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto x = static_cast<double>(i);
    outer.emplace_back(Place{x - 0.19, 0.16}, columns[i].outer);
    (columns[i].marked ? marked : inner).emplace_back(Place{x + 0.19, 0.16}, columns[i].inner);
  }
  std::vector<std::pair<std::string, std::string>> legend{{kOuterColour, outer_name}, {kInnerColour, inner_name}};
  if (!marked.empty()) legend.emplace_back(kMarkedColour, marked_name);
  const double top = canvas.legend(2, canvas.content_top(), legend) + 24;
  const Scale scale = scale_of(*this);
  const Area area{text_width(significant(scale.max, 6), Canvas::kFontSize) + 24, top, Canvas::kWidth - 8,
                  top + kPlotHeight};
  canvas.area(area);
  draw_axes(canvas, *this, scale, area);
  draw(canvas, outer, kOuterColour);
  draw(canvas, inner, kInnerColour);
  draw(canvas, marked, kMarkedColour);
  return canvas.script(area.bottom + 52);
}

}  // namespace multicard::post
