#pragma once
/// \file Tokens of a JSON text: numbers, strings and literals as they stand there.

#include <cstdint>
#include <optional>
#include <string_view>

namespace multicard {

/// A token without the white space that follows it.
std::string_view trimmed_token(std::string_view token);

/// Whether the token is a number by the grammar of JSON: no leading zeros, no plus, digits on both sides of a point.
bool is_json_number(std::string_view token);

/// Whether the token is a string; its escapes are not looked at.
inline bool is_json_string(std::string_view token) {
  return token.starts_with('"');
}

/// Whether the token is a value of JSON, or begins one that has several tokens.
bool is_json_value(std::string_view token);

/// The whole number that the token is. None where it is none or does not fit.
std::optional<std::int64_t> whole_number(std::string_view token);

}  // namespace multicard
