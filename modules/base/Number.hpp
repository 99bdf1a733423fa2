#pragma once
/// \file Numbers in text that comes from outside.

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace multicard {

/// The number that `text` is as a whole, a leading plus included: no spaces, no units. None where it is not one or does
/// not fit; "inf" and "nan" are numbers of type double.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  T number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + (plus ? 1 : 0), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace multicard
