#pragma once
/// \file A figure in the house style, as a gnuplot script. Positions are pixels from the top left corner.

#include <string>
#include <vector>

namespace multicard::post {

/// Approximate width of `text`; fonts differ by a few per cent.
double text_width(const std::string& text, double font_size);

/// The width of the widest line, at the canvas' font size.
double widest_of(const std::vector<std::string>& lines);

/// `text` in lines no wider than `width`, broken at blanks.
std::vector<std::string> wrapped(const std::string& text, double width, double font_size);

/// An axis from 0 to `max` with a tick every `step`: 1, 2, 2.5 or 5 times a power of ten.
struct Scale {
  double max = 1, step = 1;
};
Scale scale_for(double largest, int about_ticks = 5);

/// Black or white, whichever contrasts more with "#RRGGBB": at least 4.5 to 1 (WCAG 2).
std::string ink_on(const std::string& colour);

enum class Align { left, centre, right };
enum class Ink { normal, faint, bold };

/// The plotting area inside a figure.
struct Area {
  double left = 0, top = 0, right = 0, bottom = 0;
  double height() const { return bottom - top; }
  double width() const { return right - left; }
};

/// The ends of an error bar.
struct ErrorBar {
  double low = 0, high = 0;
};

/// The part of an error bar that a figure shows.
struct ShownInterval {
  double at = 0;  ///< on the other axis
  double low = 0, high = 0;
  bool cut_low = false, cut_high = false;  ///< it continues beyond this end
};
enum class Along { x, y };

/// What a pointer shows at a place of a figure, or on a rectangle whose top left corner that is.
struct Tip {
  double x = 0, y = 0;
  std::string text;
  double width = 0, height = 0;
};

/// A figure for gnuplot.
struct Drawing {
  std::string script;      ///< for any terminal, which it does not set
  double height = 0;       ///< pixels; the width is Canvas::kWidth
  double head_height = 0;  ///< pixels that title and subtitle take on top
  std::vector<Tip> tips = {};
};

/// \name The whole script that draws it: for a page of any theme, and black on transparent for paper
/// @{
std::string svg_script(const Drawing& drawing);
std::string pdf_script(const Drawing& drawing);
/// @}

class Canvas {
 public:
  static constexpr double kWidth = 460;
  static constexpr double kFontSize = 14, kLineHeight = 16;

  /// Puts the title (bold) and the smaller subtitle on top, broken into lines where they are long.
  Canvas(const std::string& title, const std::string& subtitle);

  /// Where the content may begin.
  double content_top() const { return content_top_; }
  void text(double x, double y, const std::string& text, Align align = Align::left, Ink ink = Ink::normal);
  /// Lines of text around the height `middle`.
  void lines(double x, double middle, const std::vector<std::string>& lines, Align align);
  /// Text in a colour "#RRGGBB".
  void coloured_text(double x, double y, const std::string& text, Align align, const std::string& colour);
  void rectangle(double x, double y, double width, double height, const std::string& colour);
  void marker(double x, double y, int type, const std::string& colour);
  void line(double x0, double y0, double x1, double y1, const std::string& colour, const std::string& dash = "1");
  /// Coloured squares with names from `y` on, broken into rows; returns the position below them.
  double legend(double x, double y, const std::vector<std::pair<std::string, std::string>>& colours_and_names);
  void area(const Area& area);
  /// Nothing of an empty text.
  void tip(double x, double y, const std::string& text);
  void tip(double x, double y, double width, double height, const std::string& text);
  /// A strip with a cross and what is said of something that did not complete.
  void strip(double x, double y, double width, double height, const std::string& text);
  /// A line of gnuplot before the plot command.
  void command(const std::string& line);
  /// One element of the plot command, e.g. "$d1 using 1:2 with lines"; `data` becomes its data block.
  void plot(const std::string& element, const std::vector<std::vector<double>>& data);
  /// Lines along an axis that end in a stroke, or in an arrow where the interval has been cut.
  void intervals(const std::vector<ShownInterval>& shown, Along along, const std::string& colour);

  /// The whole figure, of this height.
  Drawing finished(double height) const;

 private:
  std::string place(double x, double y) const;
  double content_top_ = 0;
  std::vector<std::string> commands_;
  std::vector<std::string> elements_;
  std::string blocks_;
  Area area_;
  std::vector<Tip> tips_;
};

}  // namespace multicard::post
