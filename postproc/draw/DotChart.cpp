#include "postproc/draw/DotChart.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Estimate.hpp"
#include "base/Text.hpp"
#include "postproc/draw/Palette.hpp"

namespace multicard::post {

namespace {

/// Pixels after which labels and notes are broken into lines.
constexpr double kLabelWidth = 150, kNoteWidth = 125;
/// Left and right of notes: browsers' fonts are up to 5 % wider than those that texts are measured with.
constexpr double kNoteRoom = 20;
constexpr double kHalfStrip = 11;

/// The ends of the axis: all dots and 1, and of intervals what lies within twice the range of the dots.
struct RatioRange {
  double low = 1, high = 1;

  explicit RatioRange(const std::vector<Dot>& dots) {
    for (const Dot& dot : dots)
      if (dot.value) include(*dot.value);
    for (const Dot& dot : dots)
      if (dot.mark) include(*dot.mark);
    const double room = std::max(high / low, 1.02);
    const double least = low / room, most = high * room;
    for (const Dot& dot : dots)
      if (dot.interval) {
        include(std::clamp(dot.interval->low, least, 1.0));
        include(std::clamp(dot.interval->high, 1.0, most));
      }
    const double margin = std::pow(high / low, 0.06) * 1.002;
    low /= margin;
    high *= margin;
  }

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double share(double value) const { return std::log(std::clamp(value, low, high) / low) / std::log(high / low); }

  /// About 1 in equal factors that are round numbers.
  std::vector<double> ticks() const {
    static const std::vector<std::vector<double>> kFine{{1.01, 1.02, 1.03}, {1.02, 1.04, 1.06}, {1.05, 1.1, 1.15},
                                                        {1.1, 1.2, 1.3},    {1.25, 1.5, 1.75},  {1.5, 2, 3},
                                                        {2, 4, 8},          {10, 100, 1000}};
    for (const std::vector<double>& above : kFine) {
      std::vector<double> ticks{1};
      for (const double factor : above) {
        if (factor <= high) ticks.push_back(factor);
        // 0.9 and 0.8 below 1.1 and 1.2, but 0.5 below 2.
        const double below = factor < 1.5 ? 2 - factor : 1 / factor;
        if (below >= low) ticks.insert(ticks.begin(), below);
      }
      const bool reaches =
          above.back() * 1.2 >= high && (above.back() < 1.5 ? 2 - above.back() : 1 / above.back()) / 1.2 <= low;
      if (reaches) return ticks;
    }
    return {1};
  }
};

/// Of a tick; gnuplot reads labels as formats, in which a per cent sign is written twice.
std::string tick_text(double ratio, Ticks ticks) {
  if (ticks == Ticks::ratios || ratio == 1) return ticks == Ticks::ratios ? significant(ratio, 3) : "0";
  return fmt::format("{}{} %%", ratio < 1 ? "−" : "+", significant(std::abs(100 * (ratio - 1)), 3));
}

/// 1 and, away from it, those whose numbers have room.
std::vector<double> fitting(const std::vector<double>& ticks, const RatioRange& range, const Area& area, Ticks kind) {
  std::vector<double> kept;
  const auto has_room = [&](double tick) {
    return std::ranges::all_of(kept, [&](double other) {
      const double room = (text_width(tick_text(tick, kind), Canvas::kFontSize) +
                           text_width(tick_text(other, kind), Canvas::kFontSize)) /
                              2 +
                          10;
      return std::abs(range.share(tick) - range.share(other)) * area.width() >= room;
    });
  };
  std::vector<double> nearest = ticks;
  std::ranges::sort(nearest, {}, [](double tick) { return std::abs(std::log(tick)); });
  for (const double tick : nearest)
    if (has_room(tick)) kept.push_back(tick);
  std::ranges::sort(kept);
  return kept;
}

double row_height(const Dot& dot) {
  const std::size_t lines = std::max(wrapped(dot.label, kLabelWidth, Canvas::kFontSize).size(),
                                     wrapped(dot.note, kNoteWidth, Canvas::kFontSize).size());
  return static_cast<double>(std::max<std::size_t>(lines, 1)) * Canvas::kLineHeight + 12;
}

double widest(const std::vector<Dot>& dots, const std::string Dot::*text, double width) {
  double most = 0;
  for (const Dot& dot : dots)
    if (text == &Dot::label || dot.value)  // notes of others stand in their strips
      most = std::max(most, widest_of(wrapped(dot.*text, width, Canvas::kFontSize)));
  return most;
}

void draw_dot(Canvas& canvas, const Dot& dot, const RatioRange& range, const Area& area, double middle) {
  canvas.lines(area.left - 10, area.top + middle, wrapped(dot.label, kLabelWidth, Canvas::kFontSize), Align::right);
  if (!dot.value) {  // a cross at 1 would look like no effect
    // Its text stands on the wider side of the line at 1.
    const double one = range.share(1) * area.width();
    const double from = one > area.width() / 2 ? 0 : one, width = std::max(one, area.width() - one);
    canvas.rectangle(area.left + (from > 0 ? 0 : width), area.top + middle - kHalfStrip, area.width() - width,
                     2 * kHalfStrip, kStrip);
    canvas.strip(area.left + from, area.top + middle - kHalfStrip, width, 2 * kHalfStrip, dot.note);
    canvas.tip(area.left, area.top + middle - kHalfStrip, area.width(), 2 * kHalfStrip, dot.label + ": " + dot.note);
    return;
  }
  canvas.lines(area.right + 10, area.top + middle, wrapped(dot.note, kNoteWidth, Canvas::kFontSize), Align::left);
  if (dot.interval)
    canvas.intervals({{middle, std::max(dot.interval->low, range.low), std::min(dot.interval->high, range.high),
                       dot.interval->low<range.low, dot.interval->high> range.high}},
                     Along::x, dot.colour);
  if (dot.mark)
    canvas.plot(fmt::format("with points pt 12 ps 1.3 lw 2 lc rgb '{}'", kColours[1]), {{*dot.mark, middle}});
  canvas.plot(fmt::format("with points pt 7 ps 0.9 lc rgb '{}'", dot.colour), {{*dot.value, middle}});
  canvas.tip(area.left + range.share(*dot.value) * area.width(), area.top + middle, dot.hover);
}

}  // namespace

Drawing DotChart::drawing() const {
  Canvas canvas(title, subtitle);
  const RatioRange range(dots);
  double height = 0;
  for (const Dot& dot : dots)
    height += row_height(dot);
  const double top = canvas.content_top();
  const Area area{widest(dots, &Dot::label, kLabelWidth) + 14, top,
                  Canvas::kWidth - widest(dots, &Dot::note, kNoteWidth) - kNoteRoom, top + height};
  canvas.area(area);
  canvas.text((area.left + area.right) / 2, area.bottom + 36, x_name, Align::centre, Ink::faint);
  std::vector<std::string> tick_texts;
  for (const double tick : fitting(range.ticks(), range, area, ticks))
    tick_texts.push_back(fmt::format("'{}' {:.8g}", tick_text(tick, ticks), tick));
  canvas.command(fmt::format("set logscale x\nset xrange [{:.8g}:{:.8g}]\nset xtics ({})", range.low, range.high,
                             join(tick_texts, ", ")));
  canvas.command(
      fmt::format("set yrange [{:.2f}:0]\nunset ytics\nset grid xtics lc rgb '#808080' dt 1", area.height()));
  const double one = area.left + range.share(1) * area.width();
  canvas.line(one, area.top, one, area.bottom, kFaint, "(6,5)");
  double y = 0;
  for (const Dot& dot : dots) {
    const double of_row = row_height(dot);
    draw_dot(canvas, dot, range, area, y + of_row / 2);
    y += of_row;
  }
  return canvas.finished(area.bottom + 52);
}

ChartData DotChart::data() const {
  ChartData out{{"bar", "part", "value", "low", "high", "status"}, {}};
  for (const Dot& dot : dots) {
    const auto [low, high] = dot.interval.value_or(ErrorBar{kNone, kNone});
    out.rows.push_back({dot.label, std::string(), dot.value.value_or(kNone), low, high,
                        std::string(dot.value ? "complete" : "unfinished")});
  }
  return out;
}

}  // namespace multicard::post
