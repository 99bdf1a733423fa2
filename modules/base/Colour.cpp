#include "base/Colour.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "base/Terminal.hpp"

namespace multicard {

bool shows_colours() {
  const char* none = std::getenv("NO_COLOR");
  if (none != nullptr && *none != '\0') return false;
  static const Terminal terminal;
  return terminal.can_rewrite();
}

std::string coloured(const std::string& text, Colour colour) {
  if (!shows_colours()) return text;
  return fmt::format("\033[{}m{}\033[0m", colour == Colour::red ? "31" : "33", text);
}

}  // namespace multicard
