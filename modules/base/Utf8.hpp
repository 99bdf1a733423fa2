#pragma once
/// \file UTF-8, byte by byte.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace multicard {

/// What some programs write in front of a text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_valid_utf8(std::string_view text);
/// The text with every maximal broken part replaced by U+FFFD (Unicode 15, chapter 3.9; what Rust and Python do).
std::string repaired_utf8(std::string_view text);

/// Bytes of the character that stands at `at`; 0 where the text is invalid there.
std::size_t valid_length(std::string_view text, std::size_t at);
/// Length in bytes of the character of valid UTF-8 that starts with `lead`.
std::size_t utf8_length(char lead);
/// The character of valid UTF-8 that starts at `at`; moves `at` past it.
char32_t next_character(std::string_view text, std::size_t& at);
/// How many characters the valid UTF-8 has.
std::size_t num_characters(std::string_view text);
void append_utf8(std::string& text, char32_t character);

/// Unicode's White_Space.
bool is_white_space(char32_t character);

}  // namespace multicard
