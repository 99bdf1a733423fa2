#pragma once
/// \file Sets of words that options take.

#include <initializer_list>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

/// A short set of words in help texts, as CLI::IsMember shows it. The reader of the option checks the word, because it
/// can suggest another.
inline std::string one_of(std::initializer_list<std::string> words) {
  return fmt::format("TEXT:{{{}}}", join(std::vector<std::string>(words), ","));
}

}  // namespace multicard
