#pragma once
/// \file What `multicard watch` shows: lines of text, for any width.

#include <cstddef>
#include <string>
#include <vector>

#include "watch/Plot.hpp"
#include "watch/WatchedOutput.hpp"

namespace multicard {

/// How a line is to stand out, where there are colours.
enum class Tone { plain, heading, good, bad, warning, faint };

struct PictureLine {
  std::string text;
  Tone tone = Tone::plain;
};

struct PictureForm {
  std::size_t columns = 80;  ///< no line is longer
  Characters characters = Characters::ascii;
  std::size_t plot_rows = 4;  ///< 0: no curves
  double now = 0;             ///< seconds since 1970
};

/// All that is known of one output.
std::vector<PictureLine> picture_of(const OutputView& watched, const PictureForm& form);

/// The same in a line, for logs.
std::string line_of(const OutputView& watched);

}  // namespace multicard
