#include "postproc/draw/EndLabels.hpp"

#include <algorithm>

#include "postproc/draw/Palette.hpp"

namespace multicard::post {

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
    if (!label.style) {
      canvas.line(x - 8, label.y, x + 8, label.y, kFaint, "(6,5)");
      canvas.text(x + 14, label.y, label.lines.front(), Align::left, Ink::faint);
      continue;
    }
    const std::size_t style = *label.style % kColours.size();
    if (markers == Markers::on)
      canvas.marker(x, label.y, kMarkers[style], kColours[style]);
    else
      canvas.line(x - 8, label.y, x + 8, label.y, kColours[style], kDashes[style]);
    double line_y = label.y - static_cast<double>(label.lines.size() - 1) * EndLabel::kLineHeight / 2;
    for (const std::string& line : label.lines) {
      canvas.text(x + 14, line_y, line);
      line_y += EndLabel::kLineHeight;
    }
  }
}

}  // namespace multicard::post
