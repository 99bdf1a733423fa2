#include "profile/trace/JsonToken.hpp"

#include <cstddef>

#include "base/Number.hpp"

namespace multicard {

namespace {

/// How many digits stand at `at`.
std::size_t num_digits(std::string_view token, std::size_t at) {
  std::size_t end = at;
  while (end < token.size() && token[end] >= '0' && token[end] <= '9')
    ++end;
  return end - at;
}

}  // namespace

std::string_view trimmed_token(std::string_view token) {
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

bool is_json_number(std::string_view token) {
  std::size_t at = token.starts_with('-') ? 1 : 0;
  const std::size_t whole = num_digits(token, at);
  if (whole == 0 || (whole > 1 && token[at] == '0')) return false;
  at += whole;
  if (at < token.size() && token[at] == '.') {
    const std::size_t fraction = num_digits(token, at + 1);
    if (fraction == 0) return false;
    at += 1 + fraction;
  }
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    const std::size_t exponent = num_digits(token, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == token.size();
}

bool is_json_value(std::string_view token) {
  return is_json_string(token) || token.starts_with('{') || token.starts_with('[') || token == "true" ||
         token == "false" || token == "null" || is_json_number(token);
}

std::optional<std::int64_t> whole_number(std::string_view token) {
  return is_json_number(token) ? parse_number<std::int64_t>(token) : std::nullopt;
}

}  // namespace multicard
