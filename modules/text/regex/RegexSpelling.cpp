#include "text/regex/RegexSpelling.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "text/regex/RegexSet.hpp"
#include "text/unicode/UnicodeClasses.hpp"
#include "text/unicode/UnicodeTables.hpp"

namespace multicard {

namespace {

// PCRE2's own caseless matching is not used: it folds one character to one, by its Unicode version, while Oniguruma
// also knows folds of two and three characters (ß and ss, ﬃ and ffi). All spellings are therefore written out.
std::string one_of(char32_t character, const RegexOptions& options) {
  if (!options.ignores_case) return pcre2_character(character);
  const CodePointSet equal = case_closed(character);
  return equal.ranges().size() > 1 ? pcre2_set(equal, *options.ignored) : pcre2_character(character);
}

std::size_t length_of(const LongFold& fold) {
  return fold.fold[2] != 0 ? 3 : 2;
}

bool begins_with(const std::u32string& characters, std::size_t at, const LongFold& fold) {
  if (at + length_of(fold) > characters.size()) return false;
  for (std::size_t i = 0; i < length_of(fold); ++i)
    if (!equal_without_case(characters[at + i], fold.fold[i])) return false;
  return true;
}

/// The characters that equal several others, for the longest such row that begins at `at`; the row's length.
std::pair<CodePointSet, std::size_t> shorter_spellings(const std::u32string& characters, std::size_t at) {
  std::vector<CodePointSet::Range> equal;
  for (const std::size_t length : {std::size_t{3}, std::size_t{2}}) {
    for (const LongFold& fold : kLongFolds)
      if (length_of(fold) == length && begins_with(characters, at, fold))
        equal.push_back({fold.character, fold.character});
    if (!equal.empty()) return {CodePointSet(std::move(equal)), length};
  }
  return {{}, 1};
}

std::string spelt_out(const LongFold& fold, const RegexOptions& options) {
  std::string result;
  for (std::size_t i = 0; i < length_of(fold); ++i)
    result += one_of(fold.fold[i], options);
  return result;
}

}  // namespace

// Several members may have the same fold: ß and ẞ are both "ss". An alternative written twice would only backtrack
// twice.
std::string longer_spellings(const CodePointSet& members, const RegexOptions& options) {
  std::vector<std::string> spellings;
  for (const LongFold& fold : kLongFolds)
    if (members.contains(fold.character)) spellings.push_back(spelt_out(fold, options));
  std::sort(spellings.begin(), spellings.end());
  spellings.erase(std::unique(spellings.begin(), spellings.end()), spellings.end());
  std::string result;
  for (const std::string& spelling : spellings)
    result += "|" + spelling;
  return result;
}

std::string any_spelling(char32_t character, const RegexOptions& options) {
  const std::string longer = options.ignores_case ? longer_spellings(CodePointSet::of(character), options) : "";
  const std::string alone = one_of(character, options);
  return longer.empty() ? alone : "(?:" + alone + longer + ")";
}

// From the left, the longest fold first: "ffi" is one row of three, which ﬃ may replace. That its beginning is also the
// fold of ﬀ is then not looked at.
std::string spelt_row(const std::u32string& characters, const RegexOptions& options) {
  std::string result;
  for (std::size_t at = 0; at < characters.size();) {
    const auto [shorter, length] =
        options.ignores_case ? shorter_spellings(characters, at) : std::pair<CodePointSet, std::size_t>{{}, 1};
    std::string row;
    for (std::size_t i = 0; i < length; ++i)
      row += length == 1 ? any_spelling(characters[at], options) : one_of(characters[at + i], options);
    result += shorter.is_empty() ? row : fmt::format("(?:{}|{})", row, pcre2_set(shorter, *options.ignored));
    at += length;
  }
  return result;
}

}  // namespace multicard
