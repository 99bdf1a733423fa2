#include "text/unicode/Unicode.hpp"

#include <algorithm>
#include <vector>

#include <utf8proc.h>

#include "base/Utf8.hpp"
#include "text/unicode/UnicodeTables.hpp"

namespace multicard {

namespace {

// The search of CodePointSet::contains() over tables that lie in read-only memory: a set would copy them at the start.
bool is_in(std::span<const CodePointSet::Range> ranges, char32_t character) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), character,
                                      [](char32_t one, const CodePointSet::Range& range) { return one < range.first; });
  return after != ranges.begin() && character <= std::prev(after)->last;
}

/// The small letter, also of characters that the installed utf8proc does not know.
char32_t small_letter(char32_t character) {
  for (const SmallLetter& one : kSmallLetters)
    if (character >= one.begin && character <= one.end)
      return static_cast<char32_t>(static_cast<std::int32_t>(character) + one.distance);
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character)));
}

// The length that utf8proc returns may exceed the buffer: it counts what would be needed. kLongest is above every
// decomposition of Unicode, so that this cannot happen.
void append_parts(std::vector<utf8proc_int32_t>& characters, utf8proc_int32_t character, utf8proc_option_t option) {
  constexpr int kLongest = 32;  // the longest decomposition has 18 characters
  const std::size_t size = characters.size();
  characters.resize(size + kLongest);
  int last_class = 0;
  const utf8proc_ssize_t length =
      utf8proc_decompose_char(character, characters.data() + size, kLongest, option, &last_class);
  characters.resize(size + static_cast<std::size_t>(std::max<utf8proc_ssize_t>(0, length)));
}

// What the tokenizers library's Unicode does not know stays whole, however new the installed utf8proc is: ids must not
// depend on the machine.
void append_decomposed(std::vector<utf8proc_int32_t>& characters, char32_t character, utf8proc_option_t option) {
  const auto code = static_cast<utf8proc_int32_t>(character);
  if (!is_in(kNormalizedCharacters, character)) return characters.push_back(code);
  append_parts(characters, code, option);
}

int combining_class(utf8proc_int32_t character) {
  if (!is_in(kNormalizedCharacters, static_cast<char32_t>(character))) return 0;
  return utf8proc_get_property(character)->combining_class;
}

/// Marks in a row stand in the order of their classes. (The library's own sorting is quadratic in their number.)
void order_marks(std::vector<utf8proc_int32_t>& characters) {
  auto begin = characters.begin();
  while (begin != characters.end()) {
    if (combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, characters.end(), [](auto mark) { return combining_class(mark) == 0; });
    std::stable_sort(begin, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

/// Whether utf8proc knows of the character what the tokenizers library does not: its class or its parts.
bool is_newer(utf8proc_int32_t character) {
  constexpr utf8proc_uint16_t kNone = UINT16_MAX;
  const utf8proc_property_t* property = utf8proc_get_property(character);
  return (property->combining_class != 0 || property->decomp_seqindex != kNone) &&
         !is_in(kNormalizedCharacters, static_cast<char32_t>(character));
}

/// Newer characters stay as they are, and nothing is composed over them or to one of them.
std::vector<utf8proc_int32_t> composed(std::vector<utf8proc_int32_t> characters) {
  std::vector<utf8proc_int32_t> result;
  result.reserve(characters.size());
  for (auto begin = characters.begin(); begin != characters.end();) {
    if (is_newer(*begin)) {
      result.push_back(*begin++);
      continue;
    }
    const auto end = std::find_if(begin, characters.end(), is_newer);
    const utf8proc_ssize_t length = utf8proc_normalize_utf32(
        &*begin, end - begin, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    for (utf8proc_ssize_t i = 0; i < length; ++i)
      if (is_newer(begin[i]))
        append_parts(result, begin[i], static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE));
      else
        result.push_back(begin[i]);
    begin = end;
  }
  return result;
}

}  // namespace

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

std::size_t begin_of_last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80)  // 10xxxxxx continues a character
    --at;
  return at;
}

// Not utf8proc_map() over the whole text, which would bring in the characters of its own Unicode version and take
// quadratic time for a long row of marks. Its steps are done here one by one (decompose, order, compose), each confined
// to the characters that the tokenizers library knows. ASCII is its own normal form in all four.
std::string normalized(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  const bool composes = form == NormalForm::nfc || form == NormalForm::nfkc;
  const bool is_compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const auto option =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (is_compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();)
    append_decomposed(characters, next_character(text, at), option);
  order_marks(characters);
  if (composes) characters = composed(std::move(characters));
  std::string result;
  result.reserve(text.size());
  for (const utf8proc_int32_t character : characters)
    append_utf8(result, static_cast<char32_t>(character));
  return result;
}

// Character by character, as the tokenizers library does it. Python's str.lower() and Rust's str::to_lowercase() look
// further: they write a capital sigma at the end of a word as a final sigma.
std::string lower_case(std::string_view text) {
  constexpr char32_t kDottedCapitalI = 0x130;  // the one capital whose small form has two characters
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    if (character == kDottedCapitalI) {
      result += "i\xCC\x87";
    } else {
      append_utf8(result, small_letter(character));
    }
  }
  return result;
}

// Full case mappings are longer than one character for about a hundred letters; utf8proc has only the simple ones. Of
// these letters the sharp s is the one that templates meet.
std::string upper_case(char32_t character) {
  constexpr char32_t kSharpS = 0xDF;  // the commonest letter whose capital form has two characters
  std::string result;
  if (character == kSharpS) return "SS";
  append_utf8(result, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(character))));
  return result;
}

std::string title_case(char32_t character) {
  constexpr char32_t kSharpS = 0xDF;
  std::string result;
  if (character == kSharpS) return "Ss";
  append_utf8(result, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(character))));
  return result;
}

std::string without_marks(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    if (!is_in(kMarks, character)) append_utf8(result, character);
  }
  return result;
}

bool is_numeric(char32_t character) {
  return is_in(kNumbers, character);
}

bool is_punctuation(char32_t character) {
  return is_in(kPunctuation, character);
}

bool is_cased(char32_t character) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT;
}

bool is_letter(char32_t character) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

// Python's str.isprintable(), which decides what repr() escapes. The numbers of utf8proc's categories run from the
// separators (ZS, ZL, ZP) through CC, CF and CS to CO; CN, unassigned, is 0.
bool is_printable(char32_t character) {
  if (character < 0x80) return character >= ' ' && character < 0x7F;
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return category != UTF8PROC_CATEGORY_CN && (category < UTF8PROC_CATEGORY_ZS || category > UTF8PROC_CATEGORY_CO);
}

}  // namespace multicard
