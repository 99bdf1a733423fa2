#pragma once
/// \file Sets of characters as patterns of the PCRE2 that is installed.

#include <string>

#include "text/unicode/CodePointSet.hpp"

namespace multicard {

/// The characters that the installed PCRE2, whose Unicode version may be older or newer, puts into other categories
/// than the tokenizers library does.
const CodePointSet& disputed_characters();

/// A PCRE2 pattern for one character of the set, which may match any of the `ignored` ones or not: texts that hold none
/// of the disputed characters need them not be spelt out, and categories are shorter and faster than lists.
std::string pcre2_set(const CodePointSet& set, const CodePointSet& ignored = {});
/// A PCRE2 pattern for this character.
std::string pcre2_character(char32_t character);

}  // namespace multicard
