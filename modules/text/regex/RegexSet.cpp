#include "text/regex/RegexSet.hpp"

#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/Utf8.hpp"
#include "text/unicode/Unicode.hpp"
#include "text/unicode/UnicodeClasses.hpp"

namespace multicard {

namespace {

constexpr std::array<std::string_view, 25> kCategories{"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
                                                       "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
                                                       "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp"};
constexpr std::string_view kMajorCategories = "LMNPSZ";
constexpr char32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

/// A category of the installed PCRE2 and what it holds.
struct Category {
  std::string name;
  CodePointSet set;
};

/// The characters that may have a category: all but the planes of private use and those where nothing is assigned.
std::string assignable_text() {
  // Planes 4 to 13 have no assigned characters in any version of Unicode, plane 14 only tags and variation selectors.
  // Without them the walk over all characters is a quarter as long.
  constexpr std::array<CodePointSet::Range, 3> kRanges{
      {{0, kFirstSurrogate - 1}, {kLastSurrogate + 1, 0x3FFFF}, {0xE0000, 0xE0FFF}}};
  std::string text;
  for (const CodePointSet::Range& range : kRanges)
    for (char32_t character = range.first; character <= range.last; ++character)
      append_utf8(text, character);
  return text;
}

/// Asks the installed PCRE2 for the members of its categories, in one walk over the characters.
std::vector<Category> ask_for_categories() {
  std::string pattern;
  for (const std::string_view name : kCategories)
    pattern += fmt::format("{}(\\p{{{}}}+)", pattern.empty() ? "" : "|", name);
  pattern += "|\\p{C}+";
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* const code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF, &error, &at, nullptr);
  if (!code) return {};
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  pcre2_match_data* const match = pcre2_match_data_create_from_pattern(code, nullptr);
  const PCRE2_SIZE* const offsets = pcre2_get_ovector_pointer(match);
  const std::string text = assignable_text();
  std::array<std::vector<CodePointSet::Range>, kCategories.size()> ranges;
  int group = 0;
  for (PCRE2_SIZE from = 0; (group = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                                 PCRE2_NO_UTF_CHECK, match, nullptr)) > 0;
       from = offsets[1]) {
    // The result is one more than the number of the highest group that took part: 1 for \p{C}+, which is no group.
    if (group == 1) continue;  // of no category that is of use
    std::size_t begin = offsets[0], last = begin_of_last_character(std::string_view(text).substr(0, offsets[1]));
    ranges[static_cast<std::size_t>(group) - 2].push_back({next_character(text, begin), next_character(text, last)});
  }
  pcre2_match_data_free(match);
  pcre2_code_free(code);
  std::vector<Category> result;
  for (const char major : kMajorCategories) {
    std::vector<CodePointSet::Range> whole;
    for (std::size_t i = 0; i < kCategories.size(); ++i)
      if (kCategories[i][0] == major) whole.insert(whole.end(), ranges[i].begin(), ranges[i].end());
    result.push_back({std::string(1, major), CodePointSet(std::move(whole))});
  }
  for (std::size_t i = 0; i < kCategories.size(); ++i)
    result.push_back({std::string(kCategories[i]), CodePointSet(std::move(ranges[i]))});
  return result;
}

// PCRE2 can be asked for the version of its Unicode tables, not for their content, and a list of versions would not
// know those of distributions to come. One walk for each process finds out what the installed one really does. Without
// an answer sets are listed in full: slower, and as correct.
const std::vector<Category>& installed_categories() {
  static const std::vector<Category> categories = ask_for_categories();
  return categories;
}

CodePointSet surrogates() {
  return CodePointSet({{kFirstSurrogate, kLastSurrogate}});
}

/// The set with its ranges joined across gaps that are allowed.
CodePointSet joined(const CodePointSet& set, const CodePointSet& allowed) {
  std::vector<CodePointSet::Range> ranges;
  auto around = allowed.ranges().begin();  // one range of these holds both sides of such a gap
  for (const CodePointSet::Range& range : set.ranges()) {
    if (!ranges.empty() && around->last >= range.last) {
      ranges.back().last = range.last;
      continue;
    }
    while (around->last < range.last)
      ++around;
    ranges.push_back(range);
  }
  return CodePointSet(std::move(ranges));
}

}  // namespace

// By number, whatever the character would mean to PCRE2 there: the rules for escaping differ in brackets and outside.
std::string pcre2_character(char32_t character) {
  if (character < 0x80 && std::isalnum(static_cast<int>(character))) return {static_cast<char>(character)};
  return fmt::format("\\x{{{:x}}}", static_cast<std::uint32_t>(character));
}

const CodePointSet& disputed_characters() {
  static const CodePointSet disputed = [] {
    std::vector<CodePointSet::Range> ranges;
    for (const Category& category : installed_categories()) {
      const CodePointSet library = *property_set(category.name, ClassPlace::alone);
      for (const CodePointSet& some : {library - category.set, category.set - library})
        ranges.insert(ranges.end(), some.ranges().begin(), some.ranges().end());
    }
    return CodePointSet(std::move(ranges));
  }();
  return disputed;
}

// A set that holds U+10FFFF is nearly always a complement, and its negation is the shorter list. A category may stand
// for its members only where it brings in nothing but members and characters that do not matter; the major ones are
// tried first, because L saves more than Lu.
std::string pcre2_set(const CodePointSet& set, const CodePointSet& ignored) {
  constexpr std::size_t kFewRanges = 16;  // are faster to test than a category
  const bool is_negated = set.contains(CodePointSet::kLast);
  const CodePointSet wanted = is_negated ? set.complement() : set;
  const CodePointSet anyhow = ignored | surrogates(), allowed = wanted | anyhow;  // PCRE2 refuses to name surrogates
  CodePointSet rest = joined(wanted - anyhow, allowed);
  // An empty pair of brackets does not exist: a closing bracket right after the opening one is a member.
  if (rest.is_empty()) return is_negated ? "[\\x{0}-\\x{10ffff}]" : "[^\\x{0}-\\x{10ffff}]";
  std::string members;
  for (const Category& category : installed_categories()) {
    const CodePointSet& named = category.set;
    if (rest.ranges().size() < kFewRanges) break;
    if ((named & rest).ranges().size() < kFewRanges || !allowed.includes(named)) continue;
    members += fmt::format("\\p{{{}}}", category.name);
    rest = joined(rest - named - anyhow, allowed);
  }
  for (const CodePointSet::Range& range : rest.ranges()) {
    members += pcre2_character(range.first);
    if (range.last > range.first) members += "-" + pcre2_character(range.last);
  }
  return fmt::format("[{}{}]", is_negated ? "^" : "", members);
}

}  // namespace multicard
