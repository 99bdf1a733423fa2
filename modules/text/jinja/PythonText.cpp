#include "text/jinja/PythonText.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/Utf8.hpp"
#include "text/unicode/Unicode.hpp"

namespace multicard {

namespace {

template <class Predicate>
std::string_view stripped(std::string_view text, PythonEnds ends, Predicate&& goes) {
  while (ends != PythonEnds::right && !text.empty()) {
    std::size_t next = 0;
    if (!goes(next_character(text, next))) break;
    text.remove_prefix(next);
  }
  while (ends != PythonEnds::left && !text.empty()) {
    const std::size_t last = begin_of_last_character(text);
    std::size_t at = last;
    if (!goes(next_character(text, at))) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

// With a limit the rest is one part, which keeps its white space but for the end from which parts are taken.
std::vector<std::string_view> split_at_space(std::string_view text, std::int64_t most, PythonEnds from) {
  std::vector<std::string_view> parts;
  text = python_strip(text, from == PythonEnds::right ? PythonEnds::right : PythonEnds::left);
  while (!text.empty()) {
    if (most >= 0 && std::cmp_equal(parts.size(), most)) {
      parts.push_back(text);
      break;
    }
    if (from == PythonEnds::right) {
      std::size_t begin = text.size();
      while (begin > 0) {
        const std::size_t last = begin_of_last_character(text.substr(0, begin));
        std::size_t at = last;
        if (is_python_space(next_character(text, at))) break;
        begin = last;
      }
      parts.push_back(text.substr(begin));
      text = python_strip(text.substr(0, begin), PythonEnds::right);
    } else {
      std::size_t end = 0;
      while (end < text.size()) {
        std::size_t at = end;
        if (is_python_space(next_character(text, at))) break;
        end = at;
      }
      parts.push_back(text.substr(0, end));
      text = python_strip(text.substr(end), PythonEnds::left);
    }
  }
  if (from == PythonEnds::right) std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

// The four separators of ASCII are white space for str.isspace(), not by the property White_Space.
bool is_python_space(char32_t character) {
  return is_white_space(character) || (character >= 0x1C && character <= 0x1F);
}

std::string_view python_strip(std::string_view text, PythonEnds ends) {
  return stripped(text, ends, is_python_space);
}

std::string_view python_strip(std::string_view text, std::string_view characters, PythonEnds ends) {
  std::u32string set;
  for (std::size_t at = 0; at < characters.size();)
    set += next_character(characters, at);
  return stripped(text, ends, [&](char32_t character) { return set.find(character) != std::u32string::npos; });
}

std::vector<std::string_view> python_split(std::string_view text, std::optional<std::string_view> separator,
                                           std::int64_t most, PythonEnds from) {
  if (!separator) return split_at_space(text, most, from);
  std::vector<std::string_view> parts;
  while (most < 0 || std::cmp_less(parts.size(), most)) {
    const std::size_t at = from == PythonEnds::right ? text.rfind(*separator) : text.find(*separator);
    if (at == std::string_view::npos) break;
    if (from == PythonEnds::right) {
      parts.push_back(text.substr(at + separator->size()));
      text = text.substr(0, at);
    } else {
      parts.push_back(text.substr(0, at));
      text.remove_prefix(at + separator->size());
    }
  }
  parts.push_back(text);
  if (from == PythonEnds::right) std::reverse(parts.begin(), parts.end());
  return parts;
}

// str.splitlines() ends lines at more than line feeds: VT, FF, the separators of ASCII but the last, NEL, LS and PS.
std::vector<std::string_view> python_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at;
    const char32_t character = next_character(text, at);
    const bool ends_line = (character >= 0x0A && character <= 0x0D) || (character >= 0x1C && character <= 0x1E) ||
                           character == 0x85 || character == 0x2028 || character == 0x2029;
    if (!ends_line) continue;
    if (character == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(begin, end - begin));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::vector<std::string_view> python_characters(std::string_view text) {
  std::vector<std::string_view> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::min(utf8_length(text[at]), text.size() - at);
    characters.push_back(text.substr(at, length));
    at += length;
  }
  return characters;
}

std::string python_slice(std::string_view text, std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (step == 1 && is_ascii(text))
    return begin < end
               ? std::string(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)))
               : std::string();
  const std::vector<std::string_view> characters = python_characters(text);
  std::string part;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step)
    part += characters[static_cast<std::size_t>(i)];
  return part;
}

std::string python_replace(std::string_view text, std::string_view old, std::string_view replacement,
                           std::int64_t most) {
  std::string result;
  std::int64_t count = 0;
  const auto may = [&] { return most < 0 || count < most; };
  if (old.empty()) {
    for (const std::string_view character : python_characters(text)) {
      if (may()) result += replacement;
      ++count;
      result += character;
    }
    if (may()) result += replacement;
    return result;
  }
  for (std::size_t at; may() && (at = text.find(old)) != std::string_view::npos; ++count) {
    result.append(text.substr(0, at)).append(replacement);
    text.remove_prefix(at + old.size());
  }
  return result.append(text);
}

std::string python_upper(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();)
    result += upper_case(next_character(text, at));
  return result;
}

// text.isupper() and islower(): characters without case do not matter, but there must be one with it.
bool python_is_upper(std::string_view text) {
  return text == python_upper(text) && text != lower_case(text);
}
bool python_is_lower(std::string_view text) {
  return text == lower_case(text) && text != python_upper(text);
}

std::string python_title(std::string_view text) {
  std::string result;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t character = next_character(text, at);
    const std::string_view one = text.substr(begin, at - begin);
    result += in_word ? lower_case(one) : title_case(character);
    in_word = is_cased(character);
  }
  return result;
}

// Title case, not upper case, since Python 3.8: it matters for digraphs such as ǆ, which becomes ǅ.
std::string python_capitalize(std::string_view text) {
  if (text.empty()) return {};
  std::size_t at = 0;
  const char32_t first = next_character(text, at);
  return title_case(first) + lower_case(text.substr(at));
}

// Double quotes only where that saves escapes: the text has single quotes and no double ones.
std::string python_repr(std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t character = next_character(text, at);
    if (character == static_cast<unsigned char>(quote) || character == '\\') {
      result += '\\';
      result += static_cast<char>(character);
    } else if (character == '\n') {
      result += "\\n";
    } else if (character == '\r') {
      result += "\\r";
    } else if (character == '\t') {
      result += "\\t";
    } else if (is_printable(character)) {
      result += text.substr(begin, at - begin);
    } else {
      const auto code = static_cast<std::uint32_t>(character);
      result += code < 0x100     ? fmt::format("\\x{:02x}", code)
                : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                 : fmt::format("\\U{:08x}", code);
    }
  }
  return result + quote;
}

std::string python_repr(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[64];
  // The shortest digits that read back as the number, d.ddde+XX.
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t mark = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + mark + 1 + (text[mark + 1] == '+'), text.data() + text.size(), exponent);
  // float.__repr__ changes to an exponent of at least two digits beyond these bounds.
  if (exponent < -4 || exponent >= 16)
    return fmt::format("{}e{}{:02}", text.substr(0, mark), exponent < 0 ? '-' : '+', std::abs(exponent));
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr;
  std::string plain(buffer, static_cast<std::size_t>(fixed - buffer));
  if (plain.find('.') == std::string::npos) plain += ".0";
  return plain;
}

}  // namespace multicard
