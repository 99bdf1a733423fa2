#include "text/unicode/UnicodeClasses.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "text/unicode/UnicodeTables.hpp"

namespace multicard {

namespace {

/// As in the first five bits of kUnicodeClasses.
constexpr std::array<std::pair<std::string_view, std::string_view>, 29> kCategories{
    {{"lu", "uppercaseletter"},    {"ll", "lowercaseletter"},  {"lt", "titlecaseletter"},
     {"lm", "modifierletter"},     {"lo", "otherletter"},      {"mn", "nonspacingmark"},
     {"mc", "spacingmark"},        {"me", "enclosingmark"},    {"nd", "decimalnumber"},
     {"nl", "letternumber"},       {"no", "othernumber"},      {"pc", "connectorpunctuation"},
     {"pd", "dashpunctuation"},    {"ps", "openpunctuation"},  {"pe", "closepunctuation"},
     {"pi", "initialpunctuation"}, {"pf", "finalpunctuation"}, {"po", "otherpunctuation"},
     {"sm", "mathsymbol"},         {"sc", "currencysymbol"},   {"sk", "modifiersymbol"},
     {"so", "othersymbol"},        {"zs", "spaceseparator"},   {"zl", "lineseparator"},
     {"zp", "paragraphseparator"}, {"cc", "control"},          {"cf", "format"},
     {"co", "privateuse"},         {"cn", "unassigned"}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kMajorCategories{{{"l", "letter"},
                                                                                         {"m", "mark"},
                                                                                         {"n", "number"},
                                                                                         {"p", "punctuation"},
                                                                                         {"s", "symbol"},
                                                                                         {"z", "separator"},
                                                                                         {"c", "other"}}};
/// As in the three bits above them.
constexpr std::array<std::string_view, 3> kFlags{"alphabetic", "lowercase", "uppercase"};

// The runs of both tables follow each other from U+0000 without gaps, so that a sum of lengths gives the place of each.
template <class IsWanted>
CodePointSet select(std::span<const std::uint32_t> runs, const IsWanted& is_wanted) {
  std::vector<CodePointSet::Range> ranges;
  char32_t begin = 0;
  for (const std::uint32_t run : runs) {
    const char32_t end = begin + (run >> 8);
    if (is_wanted(run & 0xFF)) ranges.push_back({begin, end - 1});
    begin = end;
  }
  return CodePointSet(std::move(ranges));
}

std::optional<CodePointSet> category_set(std::string_view name) {
  const auto major = std::find_if(kMajorCategories.begin(), kMajorCategories.end(),
                                  [&](const auto& one) { return one.first == name || one.second == name; });
  const auto is_wanted = [&](std::uint32_t value) {
    const auto& [letters, words] = kCategories[value & 0x1F];
    if (major != kMajorCategories.end()) return letters.front() == major->first.front();
    return letters == name || words == name;
  };
  CodePointSet set = select(kUnicodeClasses, is_wanted);
  if (set.is_empty()) return std::nullopt;
  return set;
}

CodePointSet category(std::string_view name) {
  return category_set(name).value();
}

CodePointSet flagged(std::string_view name) {
  const auto flag = static_cast<std::size_t>(std::find(kFlags.begin(), kFlags.end(), name) - kFlags.begin());
  return select(kUnicodeClasses, [&](std::uint32_t value) { return (value >> (5 + flag)) & 1; });
}

CodePointSet all() {
  return CodePointSet({{0, CodePointSet::kLast}});
}

// The property White_Space. U+200B, the zero width space, has been a format character since Unicode 4.0.1 and is not
// among them, nor is the byte order mark.
CodePointSet spaces() {
  return CodePointSet({{'\t', '\r'}, {0x85, 0x85}}) | category("z");
}

CodePointSet visible() {
  return (category("c") | spaces()).complement() | category("cf") | category("co");
}

std::optional<CodePointSet> script_set(std::string_view name) {
  const auto found = std::find(kScriptNames.begin(), kScriptNames.end(), name);
  if (found == kScriptNames.end()) return std::nullopt;
  const auto index = static_cast<std::uint32_t>(found - kScriptNames.begin());
  return select(kUnicodeScripts, [&](std::uint32_t value) { return value == index; });
}

std::optional<CodePointSet> other_property(std::string_view name) {
  if (name == "any") return all();
  if (name == "assigned") return category("cn").complement();
  if (name == "whitespace") return spaces();
  if (name == "lc" || name == "casedletter") return category("lu") | category("ll") | category("lt");
  if (std::find(kFlags.begin(), kFlags.end(), name) != kFlags.end()) return flagged(name);
  return std::nullopt;
}

bool shifts(const CaseShift& shift, char32_t first) {
  return first >= shift.begin && first <= shift.end && (first - shift.begin) % shift.stride == 0;
}

/// The first of the characters that equal this one.
char32_t first_of_case(char32_t character) {
  for (const CaseShift& shift : kCaseShifts)
    if (character >= shift.distance && shifts(shift, character - shift.distance)) return character - shift.distance;
  return character;
}

// Loose matching of names by UAX #44 (LM3), but without its last part: a prefix "is" stays.
std::string plain(std::string_view name) {
  std::string result;
  for (const char character : name)
    if (character != ' ' && character != '_' && character != '-')
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  return result;
}

}  // namespace

// Below U+0100 Oniguruma answers \w alone from a table of Latin-1 that counts ² ³ ¹ ¼ ½ ¾ as word characters. In
// brackets it takes the ranges of Unicode, where these six are numbers of category No and no part of a word.
CodePointSet word_set(ClassPlace place) {
  CodePointSet words = flagged("alphabetic") | category("m") | category("nd") | category("pc");
  if (place == ClassPlace::inside_set) return words;
  return words | CodePointSet({{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}});
}

std::optional<CodePointSet> posix_set(std::string_view name) {
  if (name == "alpha") return flagged("alphabetic");
  if (name == "lower") return flagged("lowercase");
  if (name == "upper") return flagged("uppercase");
  if (name == "alnum") return flagged("alphabetic") | category("nd");
  if (name == "digit") return category("nd");
  if (name == "space") return spaces();
  if (name == "punct") return category("p") | category("s");
  if (name == "word") return word_set(ClassPlace::inside_set);
  if (name == "graph") return visible();
  if (name == "print") return visible() | category("zs");
  if (name == "blank") return CodePointSet::of('\t') | category("zs");
  if (name == "cntrl") return category("cc");
  if (name == "ascii") return CodePointSet({{0, 0x7F}});
  if (name == "xdigit") return CodePointSet({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
  return std::nullopt;
}

// One name may be looked for in all tables because none has it twice but "punct", which is therefore decided first,
// like "word", whose meaning depends on the place.
std::optional<CodePointSet> property_set(std::string_view name, ClassPlace place) {
  const std::string wanted = plain(name);
  if (wanted == "word") return word_set(place);
  if (wanted == "punct") return category("p");  // unlike [[:punct:]]
  if (std::optional<CodePointSet> set = category_set(wanted)) return set;
  if (std::optional<CodePointSet> set = other_property(wanted)) return set;
  if (std::optional<CodePointSet> set = script_set(wanted)) return set;
  return posix_set(wanted);
}

bool equal_without_case(char32_t a, char32_t b) {
  return a == b || first_of_case(a) == first_of_case(b);
}

// Groups have up to four members (θ Θ ϑ ϴ). The table pairs each with the first of its group: one step leads back to
// that and one more to all the others.
CodePointSet case_closed(char32_t character) {
  const char32_t first = first_of_case(character);
  std::vector<CodePointSet::Range> ranges{{first, first}};
  for (const CaseShift& shift : kCaseShifts)
    if (shifts(shift, first)) ranges.push_back({first + shift.distance, first + shift.distance});
  return CodePointSet(std::move(ranges));
}

CodePointSet case_closed(const CodePointSet& set) {
  // Groups of equal characters are stored as pairs with their first: what equals a member by way of the first is found
  // in the second round.
  std::vector<CodePointSet::Range> ranges = set.ranges();
  CodePointSet closed = set;
  for (int round = 0; round < 2; ++round) {
    for (const CaseShift& shift : kCaseShifts)
      for (char32_t first = shift.begin; first <= shift.end; first += shift.stride) {
        const char32_t other = first + shift.distance;
        if (closed.contains(first) == closed.contains(other)) continue;
        ranges.push_back({first, first});
        ranges.push_back({other, other});
      }
    closed = CodePointSet(ranges);
  }
  return closed;
}

}  // namespace multicard
