#include "postproc/draw/BarChart.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/Estimate.hpp"
#include "base/Text.hpp"
#include "postproc/draw/Canvas.hpp"
#include "postproc/draw/Palette.hpp"

namespace multicard::post {

namespace {

/// Pixels after which labels and notes are broken into lines.
constexpr double kLabelWidth = 140, kNoteWidth = 110;

/// A bar with its texts, placed below the bars before it: rows are as high as their label or note, whichever has more
/// lines.
struct Row {
  std::vector<std::string> label, note;
  double middle = 0, bottom = 0;  ///< pixels from the area's top
  double half = 0;                ///< of the bar's thickness
  bool is_failed = false;         ///< its note stands in its strip
};

std::vector<Row> rows_of(const BarChart& chart) {
  std::vector<Row> rows;
  double y = 0;
  for (const Bar& bar : chart.bars) {
    Row row{wrapped(bar.label, kLabelWidth, Canvas::kFontSize), wrapped(bar.note, kNoteWidth, Canvas::kFontSize)};
    const auto num_lines = static_cast<double>(std::max({row.label.size(), row.note.size(), std::size_t{1}}));
    const double height = num_lines * Canvas::kLineHeight + 14;
    row.middle = y + height / 2;
    row.half = 11;
    row.bottom = y + height;
    row.is_failed = bar.status == BarStatus::failed;
    y += height;
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Pixels of the widest line of a text of all rows: the room left and right of the bars.
double widest(const std::vector<Row>& rows, std::vector<std::string> Row::*lines) {
  double width = 0;
  for (const Row& row : rows)
    if (lines == &Row::label || !row.is_failed) width = std::max(width, widest_of(row.*lines));
  return width;
}

/// Stacked segments end where their sum is; intervals and notes refer to that end.
double total(const Bar& bar) {
  double sum = 0;
  for (const Segment& segment : bar.segments)
    sum += segment.value;
  return sum;
}

/// Intervals are cut at a quarter above the longest bar.
double shown_high(const Bar& bar, double longest) {
  return bar.interval ? std::min(std::max(bar.interval->high, total(bar)), 1.25 * longest) : total(bar);
}

double longest_bar(const BarChart& chart) {
  double longest = 0;
  for (const Bar& bar : chart.bars)
    longest = std::max(longest, total(bar));
  return longest;
}

/// The axis has room for every bar, for the shown part of its interval and for the reference line.
double axis_end(const BarChart& chart) {
  const double longest = longest_bar(chart);
  double end = std::max(longest, chart.reference.value_or(0));
  for (const Bar& bar : chart.bars)
    end = std::max(end, shown_high(bar, longest));
  return end;
}

/// Segments of one colour are one element of the plot, which has one colour.
void draw_bars(Canvas& canvas, const BarChart& chart, const std::vector<Row>& rows) {
  std::map<std::string, std::vector<std::vector<double>>> boxes;
  std::vector<ShownInterval> intervals;
  const double longest = longest_bar(chart);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const Row& row = rows[i];
    double from = 0;
    for (const Segment& segment : bar.segments) {
      const double to = from + segment.value;
      if (segment.value > 0 && !segment.colour.empty())
        boxes[segment.colour].push_back({from, row.middle, from, to, row.middle - row.half, row.middle + row.half});
      from = to;
    }
    if (!bar.interval) continue;
    const bool cut_low = bar.interval->low < 0;
    const bool cut_high = bar.interval->high > shown_high(bar, longest);
    intervals.push_back({row.middle, std::max(bar.interval->low, 0.0), shown_high(bar, longest), cut_low, cut_high});
  }
  for (const auto& [colour, data] : boxes)
    canvas.plot(fmt::format("with boxxyerror fs solid 1 noborder lc rgb '{}'", colour), data);
  canvas.intervals(intervals, Along::x, "black");
  // A chart of crosses alone has nothing to plot, which gnuplot refuses.
  if (boxes.empty()) canvas.plot("NaN notitle", {});
}

/// The name in the legend of a colour; empty without one.
std::string name_of(const BarChart& chart, const std::string& colour) {
  const auto found = std::ranges::find_if(chart.legend, [&](const auto& entry) { return entry.first == colour; });
  return found == chart.legend.end() ? std::string() : found->second;
}

/// "ddp-ds: backward 12.5 (54 %) ms per step; run 0003, 30 steps"; of a failed bar that it failed.
std::string tip_of(const BarChart& chart, const Bar& bar, const Segment* segment) {
  std::string text = bar.label + ": ";
  if (!segment) return text + bar.note;
  if (const std::string part = name_of(chart, segment->colour); !part.empty()) text += part + " ";
  text += significant(segment->value);
  if (bar.interval && bar.segments.size() == 1)
    text += fmt::format(" ({}–{})", significant(bar.interval->low), significant(bar.interval->high));
  if (!chart.x_name.empty()) text += " " + chart.x_name;
  return bar.hover.empty() ? text : text + "; " + bar.hover;
}

/// Labels left of the bars, notes right of them, and the texts of segments that are wide enough. `scale`: pixels per
/// unit.
void draw_texts(Canvas& canvas, const BarChart& chart, const std::vector<Row>& rows, const Area& area, double scale) {
  const bool has_intervals = std::ranges::any_of(chart.bars, [](const Bar& bar) { return bar.interval.has_value(); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double middle = area.top + rows[i].middle;
    canvas.lines(area.left - 10, middle, rows[i].label, Align::right);
    double x = area.left;
    for (const Segment& segment : bar.segments) {
      const double width = segment.value * scale;
      if (!segment.text.empty() && width > text_width(segment.text, Canvas::kFontSize) + 6)
        canvas.coloured_text(x + width / 2, middle, segment.text, Align::centre, ink_on(segment.colour));
      if (!segment.colour.empty())
        canvas.tip(x, middle - rows[i].half, width, 2 * rows[i].half, tip_of(chart, bar, &segment));
      x += width;
    }
    if (bar.status == BarStatus::failed) {  // a cross at zero would look like the least
      canvas.strip(area.left, middle - rows[i].half, area.width(), 2 * rows[i].half, bar.note);
      canvas.tip(area.left, middle - rows[i].half, area.width(), 2 * rows[i].half, tip_of(chart, bar, nullptr));
      continue;
    }
    // At the tip of an interval a value would be read as its end: there, all values stand in a column of their own.
    const double note = has_intervals ? area.right + 8 : x + 8, mark = area.left + chart.reference.value_or(0) * scale;
    // A note that the reference line would cross moves to its right.
    const bool is_struck = note < mark + 4 && mark < note + widest({rows[i]}, &Row::note);
    canvas.lines(is_struck ? mark + 6 : note, middle, rows[i].note, Align::left);
  }
}

}  // namespace

Drawing BarChart::drawing() const {
  Canvas canvas(title, subtitle);
  const std::vector<Row> rows = rows_of(*this);
  const double top = legend.empty() ? canvas.content_top() : canvas.legend(2, canvas.content_top(), legend);
  const double right = Canvas::kWidth - std::max(widest(rows, &Row::note) + 26, 16.0);
  const Area area{widest(rows, &Row::label) + 14, top, right, top + rows.back().bottom};
  const Scale ticks = scale_for(axis_end(*this), 4);
  canvas.area(area);
  canvas.text((area.left + area.right) / 2, area.bottom + 36, x_name, Align::centre, Ink::faint);
  canvas.command(fmt::format("set xrange [0:{:.8g}]\nset xtics 0,{:.8g}", ticks.max, ticks.step));
  canvas.command(
      fmt::format("set yrange [{:.2f}:0]\nunset ytics\nset grid xtics lc rgb '#808080' dt 1", area.height()));
  draw_bars(canvas, *this, rows);
  if (reference) {
    const double x = area.left + *reference / ticks.max * area.width();
    canvas.line(x, area.top, x, area.bottom, kFaint, "(6,5)");
  }
  draw_texts(canvas, *this, rows, area, area.width() / ticks.max);
  return canvas.finished(area.bottom + 52);
}

ChartData BarChart::data() const {
  ChartData out{{"bar", "part", "value", "low", "high", "status"}, {}};
  for (const Bar& bar : bars) {
    const auto [low, high] = bar.interval.value_or(ErrorBar{kNone, kNone});
    if (bar.status == BarStatus::failed)
      out.rows.push_back({bar.label, std::string(), kNone, kNone, kNone, std::string("unfinished")});
    else
      for (const Segment& segment : bar.segments)
        out.rows.push_back(
            {bar.label, name_of(*this, segment.colour), segment.value, low, high, std::string("complete")});
  }
  return out;
}

}  // namespace multicard::post
