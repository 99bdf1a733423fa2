#pragma once
/// \file Sets of words that options take.

#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

/// A short set of words in help texts, as CLI::IsMember shows it. The reader of the option checks the word, because it
/// can suggest another.
inline std::string one_of(const std::vector<std::string>& words) {
  return fmt::format("TEXT:{{{}}}", join(words, ","));
}

}  // namespace multicard
