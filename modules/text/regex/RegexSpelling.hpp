#pragma once
/// \file Characters of patterns written out for PCRE2, with all that equals them where case is ignored.

#include <string>

#include "text/unicode/CodePointSet.hpp"

namespace multicard {

/// What holds in a part of the pattern.
struct RegexOptions {
  const CodePointSet* ignored;  ///< characters that no text holds
  bool ignores_case = false;
  bool dot_is_all = false;  ///< Oniguruma's (?m)
};

/// A character of a row: a sharp s is matched by "ss", too.
std::string any_spelling(char32_t character, const RegexOptions& options);
/// A row of characters, which is matched as a whole: "ss" also by a sharp s.
std::string spelt_row(const std::u32string& characters, const RegexOptions& options);
/// The longer spellings of a set's members, as alternatives after it.
std::string longer_spellings(const CodePointSet& members, const RegexOptions& options);

}  // namespace multicard
