#include "base/Utf8.hpp"

#include <algorithm>
#include <cstring>

namespace multicard {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

struct Sequence {
  std::size_t length;  ///< bytes that belong together
  bool is_whole;       ///< they form a character
};

/// The character at `at`, or the longest beginning of one (at least one byte). Which second bytes are allowed depends
/// on the first: no overlong forms, no surrogates, nothing above U+10FFFF.
Sequence sequence_at(std::string_view text, std::size_t at) {
  const std::uint8_t lead = byte_at(text, at);
  if (lead < 0x80) return {1, true};
  // Table 3-7 of the Unicode standard: C0 and C1 begin overlong forms only, F5 and above nothing below U+110000.
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  std::uint8_t lowest = 0x80, highest = 0xBF;
  if (lead == 0xE0) lowest = 0xA0;
  if (lead == 0xED) highest = 0x9F;
  if (lead == 0xF0) lowest = 0x90;
  if (lead == 0xF4) highest = 0x8F;
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || byte_at(text, at + i) < lowest || byte_at(text, at + i) > highest) return {i, false};
    lowest = 0x80;
    highest = 0xBF;
  }
  return {length, true};
}

/// Eight bytes at once as long as they are ASCII.
std::size_t skip_ascii(std::string_view text, std::size_t at) {
  std::uint64_t eight = 0;
  for (; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if (eight & 0x8080808080808080u) break;
  }
  return at;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  for (std::size_t at = skip_ascii(text, 0); at < text.size();) {
    const Sequence sequence = sequence_at(text, at);
    if (!sequence.is_whole) return false;
    at += sequence.length;
    if (sequence.length == 1) at = skip_ascii(text, at);
  }
  return true;
}

std::size_t valid_length(std::string_view text, std::size_t at) {
  const Sequence sequence = sequence_at(text, at);
  return sequence.is_whole ? sequence.length : 0;
}

std::string repaired_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Sequence sequence = sequence_at(text, at);
    repaired += sequence.is_whole ? text.substr(at, sequence.length) : kReplacement;
    at += sequence.length;
  }
  return repaired;
}

std::size_t utf8_length(char lead) {
  const auto byte = static_cast<std::uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

char32_t next_character(std::string_view text, std::size_t& at) {
  const std::size_t length = std::min(utf8_length(text[at]), text.size() - at);
  char32_t character = byte_at(text, at) & (length == 1 ? 0x7F : 0xFF >> (length + 1));
  for (std::size_t i = 1; i < length; ++i)
    character = character << 6 | (byte_at(text, at + i) & 0x3F);
  at += length;
  return character;
}

std::size_t num_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0) != 0x80; }));
}

void append_utf8(std::string& text, char32_t character) {
  const auto add = [&text](char32_t byte) { text += static_cast<char>(static_cast<std::uint8_t>(byte)); };
  if (character < 0x80) return add(character);
  const int num_more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  // The lead byte has as many ones at its top as the character has bytes, then a zero.
  add((0xFF00 >> (num_more + 1) & 0xFF) | character >> 6 * num_more);
  for (int i = num_more - 1; i >= 0; --i)
    add(0x80 | (character >> 6 * i & 0x3F));
}

bool is_white_space(char32_t character) {
  return (character >= 0x09 && character <= 0x0D) || character == 0x20 || character == 0x85 || character == 0xA0 ||
         character == 0x1680 || (character >= 0x2000 && character <= 0x200A) || character == 0x2028 ||
         character == 0x2029 || character == 0x202F || character == 0x205F || character == 0x3000;
}

}  // namespace multicard
