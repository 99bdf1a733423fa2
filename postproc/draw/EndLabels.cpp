#include "postproc/draw/EndLabels.hpp"

#include <algorithm>

#include "postproc/draw/Palette.hpp"

namespace multicard::post {

/// Two passes: downwards, each label below the one before it; then upwards from the area's lower edge, so that none
/// leaves it. Labels that fit keep their places.
void push_apart(std::vector<EndLabel>& labels, const Area& area) {
  std::ranges::stable_sort(labels, [](const EndLabel& a, const EndLabel& b) { return a.y < b.y; });
  for (std::size_t i = 1; i < labels.size(); ++i)
    labels[i].y = std::max(labels[i].y, labels[i - 1].y + labels[i - 1].half_height() + labels[i].half_height());
  double limit = area.bottom;
  for (std::size_t i = labels.size(); i-- > 0;) {
    labels[i].y = std::min(labels[i].y, limit - labels[i].half_height());
    limit = labels[i].y - labels[i].half_height();
  }
}

void draw_labels(Canvas& canvas, const std::vector<EndLabel>& labels, Markers markers, const Area& area) {
  for (const EndLabel& label : labels) {
    const double x = area.right + 20;
    // The ideal line: dashed and faint, as it is drawn.
    if (!label.style) {
      canvas.line(x - 8, label.y, x + 8, label.y, kFaint, "(6,5)");
      canvas.text(x + 14, label.y, label.lines.front(), Align::left, Ink::faint);
      continue;
    }
    if (markers == Markers::on)
      canvas.marker(x, label.y, label.style->marker(), label.style->line_colour());
    else
      canvas.line(x - 8, label.y, x + 8, label.y, label.style->line_colour(), label.style->dash());
    canvas.lines(x + 14, label.y, label.lines, Align::left);
  }
}

}  // namespace multicard::post
