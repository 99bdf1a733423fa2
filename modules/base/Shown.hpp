#pragma once
/// \file Strings that come from outside, as messages show them.

#include <cstddef>
#include <string>
#include <string_view>

namespace multicard {

/// Longest part of a message, in bytes.
constexpr std::size_t kLongestShown = 2000;

/// `text` as valid UTF-8 of at most `longest` bytes that cannot control a terminal: invalid bytes and control
/// characters except line feeds and tabs become \xHH, those that change the direction of writing \uHHHH, and of what is
/// too long the middle is left out, "...(12,345 bytes)...".
std::string shown(std::string_view text, std::size_t longest = kLongestShown);

}  // namespace multicard
