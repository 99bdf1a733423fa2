#include "postproc/draw/HeatMap.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Estimate.hpp"
#include "postproc/draw/Palette.hpp"

namespace multicard::post {

namespace {

/// Pixels; cells are kGap smaller than their places.
constexpr double kLeastRowHeight = 34, kColumnHeadHeight = 26, kGap = 2, kLabelWidth = 150;

/// Rows are as high as the label with the most lines.
double row_height(const HeatMap& map) {
  std::size_t most = 1;
  for (const std::string& row : map.rows)
    most = std::max(most, wrapped(row, kLabelWidth, Canvas::kFontSize).size());
  return std::max(kLeastRowHeight, static_cast<double>(most) * Canvas::kLineHeight + 4);
}

double label_room(const HeatMap& map) {
  double widest = 0;
  for (const std::string& row : map.rows)
    widest = std::max(widest, widest_of(wrapped(row, kLabelWidth, Canvas::kFontSize)));
  return widest + 12;
}

/// The lines of each column's header.
std::vector<std::vector<std::string>> heads_of(const HeatMap& map, double width) {
  std::vector<std::vector<std::string>> heads;
  for (const std::string& column : map.columns)
    heads.push_back(wrapped(column, width - 6, Canvas::kFontSize));
  return heads;
}

/// The heads of columns stand on one line, so that the one with the most lines sets the room for all.
std::size_t most_lines(const std::vector<std::vector<std::string>>& heads) {
  std::size_t most = 1;
  for (const auto& lines : heads)
    most = std::max(most, lines.size());
  return most;
}

/// A row: its label, then squares with their texts; a cross where a run did not complete.
void draw_row(Canvas& canvas, const HeatMap& map, std::size_t row, double left, double y, double width) {
  const double height = row_height(map);
  canvas.lines(left - 10, y + height / 2, wrapped(map.rows[row], kLabelWidth, Canvas::kFontSize), Align::right);
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    const double x = left + static_cast<double>(column) * width;
    const HeatCell& cell = map.cells[row][column];
    if (cell.kind != HeatCellKind::absent)
      canvas.tip(x, y, width - kGap, height - kGap,
                 fmt::format("{}, {}: {}{}", map.rows[row], map.columns[column],
                             cell.kind == HeatCellKind::failed ? "did not complete" : cell.text,
                             cell.hover.empty() ? "" : "; " + cell.hover));
    if (cell.kind == HeatCellKind::failed) canvas.marker(x + width / 2, y + height / 2, 2, kFailed);
    if (cell.kind != HeatCellKind::value) continue;
    canvas.rectangle(x, y, width - kGap, height - kGap, shade_of(cell.shade));
    canvas.coloured_text(x + width / 2, y + height / 2, cell.text, Align::centre, ink_on(shade_of(cell.shade)));
  }
}

}  // namespace

std::string shade_of(double value) {
  const double v = std::clamp(value, 0.0, 1.0);
  // Linear in each channel of sRGB, from 255.
  const auto mix = [v](int full) { return static_cast<int>(std::lround(255 + (full - 255) * v)); };
  return fmt::format("#{:02X}{:02X}{:02X}", mix(0x00), mix(0x72), mix(0xB2));
}

Drawing HeatMap::drawing() const {
  Canvas canvas(title, subtitle);
  const double named = canvas.content_top() + (column_name.empty() && row_name.empty() ? 0 : kColumnHeadHeight);
  const double left = label_room(*this), height = row_height(*this);
  const double width = std::min(110.0, (Canvas::kWidth - left) / static_cast<double>(columns.size()));
  const auto heads = heads_of(*this, width);
  const double top = named + kColumnHeadHeight + static_cast<double>(most_lines(heads) - 1) * Canvas::kLineHeight;
  canvas.text(left, named - 14, column_name, Align::left, Ink::faint);
  canvas.text(left - 10, named - 14, row_name, Align::right, Ink::faint);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const double middle = top - 14 - static_cast<double>(heads[column].size() - 1) * Canvas::kLineHeight / 2;
    canvas.lines(left + (static_cast<double>(column) + 0.5) * width, middle, heads[column], Align::centre);
  }
  for (std::size_t row = 0; row < rows.size(); ++row)
    draw_row(canvas, *this, row, left, top + static_cast<double>(row) * height, width);
  const double bottom = top + static_cast<double>(rows.size()) * height;
  canvas.area({left, top, Canvas::kWidth - 1, bottom});
  // All of it is labels and rectangles, but gnuplot requires something to plot.
  canvas.command("unset border\nunset tics\nset xrange [0:1]\nset yrange [0:1]");
  canvas.plot("NaN notitle", {});
  return canvas.finished(bottom + 6);
}

ChartData HeatMap::data() const {
  ChartData out{{"row", "column", "value", "status"}, {}};
  for (std::size_t row = 0; row < cells.size(); ++row)
    for (std::size_t column = 0; column < cells[row].size(); ++column) {
      const HeatCell& cell = cells[row][column];
      const bool has_value = cell.kind == HeatCellKind::value;
      if (cell.kind != HeatCellKind::absent)
        out.rows.push_back({rows[row], columns[column], has_value ? cell.value : kNone,
                            std::string(has_value ? "complete" : "unfinished")});
    }
  return out;
}

}  // namespace multicard::post
