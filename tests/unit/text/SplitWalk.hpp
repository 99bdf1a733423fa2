#pragma once
/// \file How a pattern splits a text around every character, as few lines.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/Utf8.hpp"
#include "text/regex/Regex.hpp"

namespace multicard {

/// What stands before and after the character that is walked.
struct SplitContext {
  std::string before, after;
};

/// The lengths of the parts, in characters: what matches and what lies between.
inline std::string split_lengths(const Regex& regex, const std::string& text) {
  std::string lengths;
  std::size_t done = 0;
  const auto part = [&](std::size_t end) {
    const auto begin = text.begin() + static_cast<std::ptrdiff_t>(done);
    const auto length = std::count_if(begin, text.begin() + static_cast<std::ptrdiff_t>(end),
                                      [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
    if (length > 0) lengths += ' ' + std::to_string(length);
    done = end;
  };
  regex.for_each(text, [&](const Regex::Match& match) {
    part(match.begin);
    part(match.end);
  });
  part(text.size());
  return lengths;
}

/// A line "FIRST LENGTHS" (hexadecimal, decimal) for each row of characters around which the parts are equally long.
inline std::string split_walk(const Regex& regex, const SplitContext& context,
                              const std::vector<std::pair<char32_t, char32_t>>& ranges) {
  std::string lines, last;
  for (const auto& [first, end] : ranges)
    for (char32_t character = first; character <= end; ++character) {
      if (character >= 0xD800 && character <= 0xDFFF) continue;
      std::string text = context.before;
      append_utf8(text, character);
      std::string lengths = split_lengths(regex, text + context.after);
      if (lengths == last) continue;
      static const char* const kDigits = "0123456789abcdef";
      for (int shift = 20; shift >= 0; shift -= 4)
        lines += kDigits[(character >> shift) & 0xF];
      lines += lengths + '\n';
      last = std::move(lengths);
    }
  return lines;
}

}  // namespace multicard
