#include "postproc/draw/Canvas.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/Gnuplot.hpp"
#include "postproc/draw/Palette.hpp"

namespace multicard::post {

namespace {

/// Pixels.
constexpr double kTitleSize = 17, kSubtitleSize = Canvas::kFontSize;
constexpr double kBold = 1.12;  ///< how much wider bold text is
/// Encloses a position; quoted() removes control characters, so that no text contains it.
constexpr char kPlace = '\x01';

const char* name_of(Align align) {
  return align == Align::left ? "left" : align == Align::right ? "right" : "center";
}

/// Font and colour of a text, as words of `set label`.
std::string style_of(Ink ink) {
  if (ink == Ink::faint) return fmt::format("tc rgb '{}' font ',{}'", kFaint, kSubtitleSize);
  return ink == Ink::bold ? fmt::format("font 'Sans:Bold,{}'", kTitleSize) : std::string();
}

/// Width of a character in units of the font size, of DejaVu Sans: the widest of the common sans-serif fonts.
double character_width(char c) {
  // Further bytes of a character in UTF-8 have no width of their own.
  if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) return 0;
  const auto is_one_of = [c](const char* characters) { return std::string(characters).find(c) != std::string::npos; };
  if (is_one_of("iljI.,:;|'!()[] ")) return 0.33;
  if (is_one_of("ftr-/")) return 0.41;
  if (is_one_of("mwMW%@")) return 0.95;
  return c >= 'A' && c <= 'Z' ? 0.7 : 0.62;
}

}  // namespace

double text_width(const std::string& text, double font_size) {
  double width = 0;
  for (const char c : text)
    width += character_width(c);
  return width * font_size;
}

double widest_of(const std::vector<std::string>& lines) {
  double widest = 0;
  for (const std::string& line : lines)
    widest = std::max(widest, text_width(line, Canvas::kFontSize));
  return widest;
}

std::string ink_on(const std::string& colour) {
  // Relative luminance of WCAG 2.
  const auto channel = [&](std::size_t at) {
    const double value = std::stoi(colour.substr(at, 2), nullptr, 16) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  const double luminance = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? "#FFFFFF" : "#000000";
}

std::vector<std::string> wrapped(const std::string& text, double width, double font_size) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.empty() && text_width(lines.back() + " " + word, font_size) <= width)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

Scale scale_for(double largest, int about_ticks) {
  if (!(largest > 0) || !std::isfinite(largest)) return {};
  const double rough = largest / about_ticks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  // From large to small, so that the smallest that suffices stays. The tolerance is for rounding: 0.4 - 0.3 is slightly
  // more than 0.1 and would have other ticks.
  for (const double factor : {5.0, 2.5, 2.0, 1.0})
    if (rough <= factor * power * (1 + 1e-9)) step = factor * power;
  return {step * std::ceil(largest / step - 1e-9), step};
}

std::string svg_script(const Drawing& drawing) {
  return fmt::format("set terminal svg noenhanced size {},{:.0f} font 'Sans,{}'\n", Canvas::kWidth, drawing.height,
                     Canvas::kFontSize) +
         drawing.script;
}

std::string pdf_script(const Drawing& drawing) {
  // pdfcairo takes inches.
  constexpr double kPointsPerInch = 72;  // a pixel becomes a point, as which gnuplot counts fonts
  std::string script = drawing.script;
  // On paper the faint colour of screens would be too light.
  for (std::size_t at = script.find(kFaint); at != std::string::npos; at = script.find(kFaint, at))
    script.replace(at, std::string(kFaint).size(), kFaintOnPaper);
  return fmt::format(
             "set terminal pdfcairo noenhanced transparent size {:.4f}in,{:.4f}in font 'Sans,{}' fontscale 0.75 "
             "linewidth 1.5\n",
             Canvas::kWidth / kPointsPerInch, drawing.height / kPointsPerInch, Canvas::kFontSize) +
         script;
}

Canvas::Canvas(const std::string& title, const std::string& subtitle) {
  const double width = kWidth - 8;
  double y = 6;
  for (const std::string& part : wrapped(title, width / kBold, kTitleSize)) {
    text(2, y + 10, part, Align::left, Ink::bold);
    y += 22;
  }
  for (const std::string& part : wrapped(subtitle, width, kSubtitleSize)) {
    text(2, y + 8, part, Align::left, Ink::faint);
    y += 18;
  }
  content_top_ = y + 8;
}

/// Enclosed in kPlace; finished() turns it into coordinates of gnuplot.
std::string Canvas::place(double x, double y) const {
  return fmt::format("{0}{1:.2f},{2:.2f}{0}", kPlace, x, y);
}

void Canvas::text(double x, double y, const std::string& text, Align align, Ink ink) {
  command(fmt::format("set label {} at {} {} {}", quoted(text), place(x, y), name_of(align), style_of(ink)));
}

void Canvas::lines(double x, double middle, const std::vector<std::string>& lines, Align align) {
  double y = middle - static_cast<double>(lines.size() - 1) * kLineHeight / 2;
  for (const std::string& line : lines) {
    text(x, y, line, align);
    y += kLineHeight;
  }
}

void Canvas::coloured_text(double x, double y, const std::string& text, Align align, const std::string& colour) {
  command(fmt::format("set label {} at {} {} tc rgb '{}' font ',{}' front", quoted(text), place(x, y), name_of(align),
                      colour, kSubtitleSize));
}

void Canvas::rectangle(double x, double y, double width, double height, const std::string& colour) {
  command(fmt::format("set object rectangle from {} to {} fs solid noborder fc rgb '{}'", place(x, y + height),
                      place(x + width, y), colour));
}

void Canvas::marker(double x, double y, int type, const std::string& colour) {
  command(fmt::format("set label '' at {} point pt {} ps 0.7 lw 2 lc rgb '{}'", place(x, y), type, colour));
}

void Canvas::line(double x0, double y0, double x1, double y1, const std::string& colour, const std::string& dash) {
  command(
      fmt::format("set arrow from {} to {} nohead lw 2 dt {} lc rgb '{}'", place(x0, y0), place(x1, y1), dash, colour));
}

double Canvas::legend(double x, double y, const std::vector<std::pair<std::string, std::string>>& colours_and_names) {
  double at = x;
  for (const auto& [colour, name] : colours_and_names) {
    const double width = 17 + text_width(name, kFontSize) + 12;
    // A new row, unless the name alone is wider than the canvas.
    if (at > x && at + width > kWidth) {
      at = x;
      y += 20;
    }
    rectangle(at, y, 12, 12, colour);
    text(at + 17, y + 6, name);
    at += width;
  }
  return y + 26;
}

void Canvas::area(const Area& area) {
  area_ = area;
}

void Canvas::tip(double x, double y, const std::string& text) {
  if (!text.empty()) tips_.push_back({x, y, text});
}

void Canvas::tip(double x, double y, double width, double height, const std::string& text) {
  if (!text.empty() && width > 0) tips_.push_back({x, y, text, width, height});
}

void Canvas::strip(double x, double y, double width, double height, const std::string& said) {
  rectangle(x, y, width, height, kStrip);
  const double left = x + (width - text_width(said, kFontSize)) / 2;
  marker(left - 8, y + height / 2, 2, kFailed);
  text(left + 4, y + height / 2, said, Align::left, Ink::faint);
}

void Canvas::command(const std::string& line) {
  commands_.push_back(line);
}

void Canvas::plot(const std::string& element, const std::vector<std::vector<double>>& data) {
  if (data.empty()) {
    elements_.push_back(element);
    return;
  }
  // A named data block ("heredoc") of gnuplot; blocks must come before the plot command that names them.
  const std::string name = fmt::format("$d{}", elements_.size());
  blocks_ += name + " << END_OF_DATA\n";
  for (const auto& row : data)
    blocks_ += fmt::format("{:.7g}\n", fmt::join(row, " "));
  blocks_ += "END_OF_DATA\n";
  elements_.push_back(name + " " + element);
}

void Canvas::intervals(const std::vector<ShownInterval>& shown, Along along, const std::string& colour) {
  // Error bars of gnuplot are x, y, low, high in both directions.
  const auto placed = [&](double at, double value, double a, double b) {
    return along == Along::x ? std::vector{value, at, a, b} : std::vector{at, value, a, b};
  };
  std::vector<std::vector<double>> strokes;  // a degenerate one is the stroke at one end
  std::map<std::string, std::vector<std::vector<double>>> arrows;
  for (const ShownInterval& one : shown) {
    const double length = one.high - one.low;
    if (!one.cut_low && !one.cut_high) {
      strokes.push_back(placed(one.at, one.low, one.low, one.high));
      continue;
    }
    // Arrows point beyond the figure: at the cut end, or at both.
    const char* heads = one.cut_low && one.cut_high ? "heads" : one.cut_high ? "head" : "backhead";
    arrows[heads].push_back(along == Along::x ? std::vector{one.low, one.at, length, 0.0}
                                              : std::vector{one.at, one.low, 0.0, length});
    if (!one.cut_low) strokes.push_back(placed(one.at, one.low, one.low, one.low));
    if (!one.cut_high) strokes.push_back(placed(one.at, one.high, one.high, one.high));
  }
  const char axis = along == Along::x ? 'x' : 'y';
  if (!strokes.empty()) plot(fmt::format("with {}errorbars pt 0 lw 1.5 lc rgb '{}'", axis, colour), strokes);
  for (const auto& [heads, data] : arrows)
    plot(fmt::format("with vectors {} filled size screen 0.013,20,60 fixed lw 1.5 lc rgb '{}'", heads, colour), data);
}

Drawing Canvas::finished(double height) const {
  // Margins are shares of the screen, from its bottom left corner, as are all positions of gnuplot: y counts upwards.
  std::string out = "set key off\nset border 1 lw 1\nset tics nomirror scale 0.5\nset xtics offset 0,0.2\n";
  out += fmt::format("set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n", area_.left / kWidth,
                     area_.right / kWidth);
  out += fmt::format("set tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n", 1 - area_.top / height,
                     1 - area_.bottom / height);
  for (std::string line : commands_) {
    // Positions become shares of the height, which is known only now.
    for (std::size_t at = line.find(kPlace); at != std::string::npos; at = line.find(kPlace)) {
      const std::size_t end = line.find(kPlace, at + 1);
      const std::vector<std::string> xy = split(line.substr(at + 1, end - at - 1), ',');
      line.replace(at, end - at + 1,
                   fmt::format("screen {:.5f},{:.5f}", std::stod(xy[0]) / kWidth, 1 - std::stod(xy[1]) / height));
    }
    out += line + "\n";
  }
  out += blocks_ + "plot " + join(elements_, ", \\\n     ") + "\n";
  return {out, height, content_top_ - 8, tips_};
}

}  // namespace multicard::post
