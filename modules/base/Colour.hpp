#pragma once
/// \file Colours on standard error.

#include <string>

namespace multicard {

enum class Colour { yellow, red };

/// Whether standard error leads to a terminal that shows colours: not under TERM=dumb,
/// where mpirun labels lines, or where NO_COLOR is set to anything (no-color.org).
bool shows_colours();

/// `text` in that colour where shows_colours(), else as it is.
std::string coloured(const std::string& text, Colour colour);

}  // namespace multicard
