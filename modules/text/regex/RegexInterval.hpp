#pragma once
/// \file Repetitions in braces.

#include <cstddef>
#include <optional>
#include <string_view>

namespace multicard {

/// A number of repetitions: {n}, {n,}, {,m} or {n,m}.
struct RegexInterval {
  int least = 0, most = -1;  ///< -1: any number
  std::size_t length = 0;    ///< of its text
  bool is_exact = false;
};

/// That at the beginning of the text, whose brace may be an ordinary character: then nothing.
std::optional<RegexInterval> regex_interval_at(std::string_view text);

}  // namespace multicard
