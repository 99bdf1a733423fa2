#pragma once
/// \file Names at the ends of lines.

#include <optional>
#include <string>
#include <vector>

#include "postproc/draw/Canvas.hpp"
#include "postproc/draw/Palette.hpp"

namespace multicard::post {

struct EndLabel {
  std::vector<std::string> lines;
  double y = 0;                    ///< pixel of the middle
  std::optional<LineStyle> style;  ///< of the series; nothing: the ideal line

  double half_height() const { return (static_cast<double>(lines.size()) * Canvas::kLineHeight + 3) / 2; }
};

enum class Markers { on, off };

/// Moves labels apart, keeping their order, within the area's height.
void push_apart(std::vector<EndLabel>& labels, const Area& area);

/// Draws each label after a short piece of its line.
void draw_labels(Canvas& canvas, const std::vector<EndLabel>& labels, Markers markers, const Area& area);

}  // namespace multicard::post
