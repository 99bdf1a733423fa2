#pragma once
/// \file Adapts gnuplot's SVG to a page with light and dark themes.

#include <string>
#include <vector>

#include "postproc/draw/Canvas.hpp"

namespace multicard::post {

/// The output of gnuplot's svg terminal without fixed size and background, black as currentColor (kFaint as a fainter
/// one), grid lines faint, names of its definitions made unique by `id` (several figures share a page), font left to
/// the page, and `title` with `description` as its accessible name. Text stays text. Throws EnvironmentError if it is
/// not an SVG.
std::string themed(std::string svg, const std::string& id, const std::string& title,
                   const std::string& description = {});

/// The same with invisible circles and rectangles, each of which shows the text of its tip under a pointer.
std::string with_tips(std::string svg, const std::vector<Tip>& tips);

/// A themed SVG with the top `height` pixels cut off.
std::string without_head(std::string svg, double height);

}  // namespace multicard::post
