#include "base/Shown.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard {

namespace {

bool is_control(char32_t character) {
  // C0, DEL and C1: also U+009B, the escape sequence introducer of one character that some terminals obey.
  const bool is_layout = character == U'\n' || character == U'\t';
  return (character < 0x20 && !is_layout) || (character >= 0x7f && character < 0xa0);
}

/// Embeddings, overrides and isolates of Unicode's bidirectional algorithm: what follows one of them may be shown in
/// another order than it is in, the rest of a message too.
bool changes_direction(char32_t character) {
  return (character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

/// Escapes the character, or the invalid byte, at `at` and moves past it.
std::string take_shown(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  const std::size_t length = valid_length(text, at);
  if (length == 0) return fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
  const char32_t character = next_character(text, at);
  if (is_control(character)) return fmt::format("\\x{:02x}", static_cast<unsigned>(character));
  if (changes_direction(character)) return fmt::format("\\u{:04x}", static_cast<unsigned>(character));
  return std::string(text.substr(begin, length));
}

/// Nearly all text is: nothing of it has to be escaped.
bool is_plain_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t'; });
}

std::string escaped(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();)
    result += take_shown(text, at);
  return result;
}

/// The longest part of valid UTF-8 before `end` that holds whole characters.
std::size_t character_begin(std::string_view text, std::size_t end) {
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return end;
}

}  // namespace

std::string shown(std::string_view text, std::size_t longest) {
  // What is left out needs no escaping: a message may hold a whole file.
  // Cut first, escape second: escaping makes text longer, never shorter, so `longest` bytes at each end are enough.
  if (text.size() <= longest && is_plain_ascii(text)) return std::string(text);
  const bool is_huge = text.size() > 2 * longest;
  std::string whole = is_huge ? std::string() : escaped(text);
  if (!is_huge && whole.size() <= longest) return whole;
  const std::string note = fmt::format("...({} bytes)...", grouped(static_cast<std::int64_t>(text.size())));
  const std::size_t room = longest > note.size() ? longest - note.size() : 0, tail_room = room / 4;
  const std::string head = is_huge ? escaped(text.substr(0, longest)) : whole;
  const std::string tail = is_huge ? escaped(text.substr(text.size() - longest)) : whole;
  std::size_t tail_begin = tail.size() - std::min(tail.size(), tail_room);
  // Continuation bytes (10xxxxxx) at a cut belong to a character whose beginning is left out.
  while (tail_begin < tail.size() && (static_cast<unsigned char>(tail[tail_begin]) & 0xc0) == 0x80)
    ++tail_begin;
  return head.substr(0, character_begin(head, room - tail_room)) + note + tail.substr(tail_begin);
}

}  // namespace multicard
