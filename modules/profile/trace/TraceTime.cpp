#include "profile/trace/TraceTime.hpp"

#include <cstddef>
#include <limits>

#include "base/Number.hpp"
#include "profile/trace/JsonToken.hpp"

namespace multicard {

namespace {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// 10^exponent times `digits`, rounded half up; none where it does not fit.
std::optional<std::int64_t> scaled(std::int64_t digits, std::int64_t exponent) {
  for (; exponent > 0 && digits != 0; --exponent) {
    if (digits > std::numeric_limits<std::int64_t>::max() / 10) return std::nullopt;
    digits *= 10;
  }
  for (; exponent < -1 && digits != 0; ++exponent)
    digits /= 10;
  return exponent == -1 ? (digits + 5) / 10 : digits;
}

}  // namespace

std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
  if (!is_json_number(text)) return std::nullopt;
  const bool is_negative = text.starts_with('-');
  std::int64_t digits = 0, exponent = 3;
  bool has_point = false;
  std::size_t at = is_negative ? 1 : 0;
  for (; at < text.size() && (is_digit(text[at]) || text[at] == '.'); ++at) {
    if (text[at] == '.') {
      has_point = true;
    } else if (digits <= (std::numeric_limits<std::int64_t>::max() - 9) / 10) {
      digits = 10 * digits + (text[at] - '0');
      if (has_point) --exponent;
    } else if (!has_point) {
      ++exponent;
    }
  }
  if (at < text.size()) {
    const auto stated = parse_number<std::int32_t>(text.substr(at + 1));
    if (!stated) return std::nullopt;
    exponent += *stated;
  }
  const std::optional<std::int64_t> value = scaled(digits, exponent);
  return value && is_negative ? -*value : value;
}

}  // namespace multicard
