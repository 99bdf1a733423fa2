#include "watch/Plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard {

namespace {

/// Of a character of braille: dots across and down.
constexpr std::size_t kAcross = 2, kDown = 4;

/// Dots, row by row.
class Raster {
 public:
  Raster(std::size_t width, std::size_t height) : width_(width), height_(height), dots_(width * height) {}

  std::size_t width() const { return width_; }
  std::size_t height() const { return height_; }
  bool at(std::size_t x, std::size_t y) const { return dots_[y * width_ + x]; }
  /// The dots of column x between two heights.
  void fill(std::size_t x, std::size_t y1, std::size_t y2) {
    for (std::size_t y = std::min(y1, y2); y <= std::max(y1, y2); ++y)
      dots_[y * width_ + x] = true;
  }

 private:
  std::size_t width_, height_;
  std::vector<bool> dots_;
};

/// The curve at x, by straight lines between the points.
double value_at(const std::vector<PlotPoint>& points, double x) {
  const auto after = std::ranges::lower_bound(points, x, {}, &PlotPoint::x);
  if (after == points.begin()) return points.front().y;
  if (after == points.end()) return points.back().y;
  const PlotPoint& before = *(after - 1);
  const double part = after->x > before.x ? (x - before.x) / (after->x - before.x) : 1;
  return std::lerp(before.y, after->y, part);
}

/// Each column is joined to the one before.
void draw(const std::vector<PlotPoint>& points, double low, double high, Raster& raster) {
  const double first = points.front().x, last = points.back().x;
  const auto top = static_cast<double>(raster.height() - 1);
  std::size_t before = 0;
  for (std::size_t column = 0; column < raster.width(); ++column) {
    const double part = static_cast<double>(column) / static_cast<double>(std::max<std::size_t>(1, raster.width() - 1));
    const double value = value_at(points, first + part * (last - first));
    // Halves, as the difference of two finite numbers may not be one.
    const double part_above = high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
    const double height = std::isfinite(part_above) ? std::clamp(part_above, 0.0, 1.0) : 0.5;
    const auto row = static_cast<std::size_t>(std::lround((1 - height) * top));
    raster.fill(column, column == 0 ? row : before, row);
    before = row;
  }
}

std::string braille_line(const Raster& raster, std::size_t line) {
  // Dots 1 to 8 of Unicode's braille patterns, by row and column.
  constexpr std::array<std::array<unsigned, kAcross>, kDown> kBits{
      {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
  constexpr char32_t kNone = 0x2800;
  std::string text;
  for (std::size_t cell = 0; cell < raster.width() / kAcross; ++cell) {
    unsigned bits = 0;
    for (std::size_t y = 0; y < kDown; ++y)
      for (std::size_t x = 0; x < kAcross; ++x)
        if (raster.at(cell * kAcross + x, line * kDown + y)) bits |= kBits[y][x];
    append_utf8(text, kNone + bits);
  }
  return text;
}

std::string ascii_line(const Raster& raster, std::size_t line) {
  std::string text;
  for (std::size_t x = 0; x < raster.width(); ++x)
    text += raster.at(x, line) ? '*' : ' ';
  return text;
}

std::vector<PlotPoint> finite(const std::vector<PlotPoint>& points) {
  std::vector<PlotPoint> known;
  for (const PlotPoint& point : points)
    if (std::isfinite(point.y)) known.push_back(point);
  return known;
}

constexpr std::size_t kLabel = 8;  ///< columns before a plot

std::string short_label(double value) {
  const std::string label = significant(value, 3);
  return label.size() <= kLabel ? label : fmt::format("{:.1e}", value);
}

}  // namespace

Characters characters_of_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string lower(value);
    std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
    const bool is_utf8 = lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
    return is_utf8 ? Characters::braille : Characters::ascii;
  }
  return Characters::ascii;
}

std::vector<std::string> curve(const std::vector<PlotPoint>& points, std::size_t columns, std::size_t rows, double low,
                               double high, Characters characters) {
  const bool is_braille = characters == Characters::braille;
  Raster raster(is_braille ? columns * kAcross : columns, is_braille ? rows * kDown : rows);
  const std::vector<PlotPoint> known = finite(points);
  if (!known.empty() && raster.width() > 0 && raster.height() > 0) draw(known, low, high, raster);
  std::vector<std::string> lines;
  for (std::size_t line = 0; line < rows; ++line)
    lines.push_back(is_braille ? braille_line(raster, line) : ascii_line(raster, line));
  return lines;
}

std::vector<std::string> plot(const std::string& title, const std::vector<PlotPoint>& points, std::size_t columns,
                              std::size_t rows, Characters characters) {
  const std::vector<PlotPoint> known = finite(points);
  std::vector<std::string> lines{title};
  if (known.empty()) return lines;
  const auto [low, high] = std::ranges::minmax(known, {}, &PlotPoint::y);
  const std::size_t width = columns > kLabel + 2 ? columns - kLabel - 2 : 1;
  const std::vector<std::string> drawn = curve(known, width, rows, low.y, high.y, characters);
  for (std::size_t line = 0; line < drawn.size(); ++line) {
    const std::string label = line == 0 ? short_label(high.y) : line + 1 == rows ? short_label(low.y) : "";
    lines.push_back(
        fmt::format("{:>{}} {}{}", label, kLabel, characters == Characters::braille ? "│" : "|", drawn[line]));
  }
  return lines;
}

}  // namespace multicard
