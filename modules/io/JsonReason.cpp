#include "io/JsonReason.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace multicard {

namespace {

/// How many bytes the character at the beginning has; 0 if they are not UTF-8.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool is_overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool is_beyond = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  return is_overlong || is_beyond ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (result.size() >= longest) return result + " ...";
    const std::size_t length = character_length(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
      ++at;
    } else {
      result += text.substr(at, length);
      at += length;
    }
  }
  return result;
}

std::string json_reason(std::string_view what) {
  if (what.starts_with("[json.exception.")) what = what.substr(std::min(what.size(), what.find("] ") + 2));
  constexpr std::string_view kParseError = "parse error at line ";
  if (what.starts_with(kParseError)) what = what.substr(kParseError.size() - std::string_view("at line ").size());
  return printable(what);
}

}  // namespace multicard
