#include "text/regex/RegexInterval.hpp"

#include <charconv>

namespace multicard {

// Oniguruma reads {,m} as {0,m}, and a brace that begins no interval as a character. PCRE2 before 10.43 reads {,m} as
// four characters and allows no spaces; newer versions do. Both questions are settled here, before PCRE2 sees the
// pattern.
std::optional<RegexInterval> regex_interval_at(std::string_view text) {
  RegexInterval result;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size();
  const auto number = [&](int& value) {
    const auto [stop, error] = std::from_chars(at, end, value);
    // std::from_chars would take a minus sign.
    const bool is_there = error == std::errc() && stop != at && *at != '-';
    if (is_there) at = stop;
    return is_there;
  };
  const bool has_least = number(result.least);
  if (at != end && *at == ',') {
    ++at;
    if (!number(result.most) && !has_least) return std::nullopt;
  } else if (has_least) {
    result.most = result.least;
    result.is_exact = true;
  }
  if (at == end || *at != '}' || (!has_least && result.most < 0)) return std::nullopt;
  result.length = static_cast<std::size_t>(at + 1 - text.data());
  return result;
}

}  // namespace multicard
