#include "text/jinja/JinjaLexer.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/Utf8.hpp"
#include "text/jinja/Jinja.hpp"
#include "text/jinja/PythonText.hpp"

namespace multicard {

namespace {

using Kind = JinjaToken::Kind;

bool is_digit(char character) {
  return std::isdigit(static_cast<unsigned char>(character));
}
bool is_name_character(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) || character == '_' || (character & 0x80);
}

/// With "\n" for every line end, and without the last one.
std::string with_plain_lines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    text += source[i] == '\r' ? '\n' : source[i];
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

/// What the escapes in a string literal mean.
std::string unescaped(std::string_view text) {
  // Python's literals: an unknown escape keeps its backslash, and one in front of a line feed joins the lines.
  std::string result;
  const auto hex = [&](std::size_t at, std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = at; i < at + digits; ++i) {
      if (i >= text.size() || !std::isxdigit(static_cast<unsigned char>(text[i])))
        throw JinjaError("an escape in a string is incomplete");
      const char digit = static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
      value = value * 16 + static_cast<char32_t>(is_digit(digit) ? digit - '0' : digit - 'a' + 10);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) throw JinjaError("an escape is not a character");
    append_utf8(result, value);
    return digits;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    const char escaped = text[++i];
    constexpr std::string_view kLetters = "ntrabfv\\'\"", kMeanings = "\n\t\r\a\b\f\v\\'\"";
    if (const std::size_t letter = kLetters.find(escaped); letter != std::string_view::npos) {
      result += kMeanings[letter];
    } else if (escaped == 'x' || escaped == 'u' || escaped == 'U') {
      i += hex(i + 1, escaped == 'x' ? 2 : escaped == 'u' ? 4 : 8);
    } else if (escaped >= '0' && escaped <= '7') {
      char32_t value = 0;
      std::size_t digits = 0;
      for (; digits < 3 && i + digits < text.size() && text[i + digits] >= '0' && text[i + digits] <= '7'; ++digits)
        value = value * 8 + static_cast<char32_t>(text[i + digits] - '0');
      append_utf8(result, value);
      i += digits - 1;
    } else if (escaped != '\n') {
      result += '\\';
      result += escaped;
    }
  }
  return result;
}

// No regular expressions, unlike Jinja's own lexer: one pass, whose time is proportional to the template's length.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<JinjaToken> tokens() {
    while (at_ < source_.size()) {
      const std::size_t open = next_tag();
      add_data(source_.substr(at_, open - at_), open);
      advance(open);
      if (open == source_.size()) break;
      const char kind = source_[open + 1];
      advance(open + 2);
      if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) advance(at_ + 1);
      if (kind == '#') {
        comment();
      } else if (kind == '{' || !raw_block()) {
        tag(kind == '{');
      }
    }
    add(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void advance(std::size_t to) {
    for (; at_ < to; ++at_)
      line_ += source_[at_] == '\n';
  }

  std::size_t next_tag() const {
    for (std::size_t at = at_; (at = source_.find('{', at)) != std::string_view::npos; ++at)
      if (at + 1 < source_.size() && (source_[at + 1] == '{' || source_[at + 1] == '%' || source_[at + 1] == '#'))
        return at;
    return source_.size();
  }

  /// The text in front of the tag at `open`, without the white space that belongs to the tag.
  void add_data(std::string_view text, std::size_t open) {
    if (open < source_.size()) text = stripped_for(text, open);
    if (!text.empty()) add(Kind::data, std::string(text));
  }
  // lstrip_blocks: what stands in front of a block or comment goes if it is white space from the line's beginning on.
  // "{{" keeps it, "+" keeps it, "-" takes all white space, line feeds included.
  std::string_view stripped_for(std::string_view text, std::size_t open) const {
    const char mark = open + 2 < source_.size() ? source_[open + 2] : ' ';
    if (mark == '-') return python_strip(text, PythonEnds::right);
    if (mark == '+' || source_[open + 1] == '{') return text;
    const std::size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
    const bool begins_line = line > 0 || at_line_begin_;
    return begins_line && python_strip(text.substr(line)).empty() ? text.substr(0, line) : text;
  }

  /// Moves past a tag and the white space that it removes: all with "-", one newline after a block (trim_blocks).
  void end_tag(std::size_t end, char mark, bool trims_line) {
    advance(end);
    std::size_t to = at_;
    if (mark == '-') {
      to = source_.size() - python_strip(source_.substr(at_), PythonEnds::left).size();
    } else if (mark != '+' && trims_line && at_ < source_.size() && source_[at_] == '\n') {
      to = at_ + 1;
    }
    // A tag whose line feed was trimmed leaves the next one at the beginning of a line, although that line feed is no
    // data.
    at_line_begin_ = to > at_ && source_[to - 1] == '\n';
    advance(to);
  }
  static char mark_before(std::string_view text, std::size_t end) {
    return end > 0 && (text[end - 1] == '-' || text[end - 1] == '+') ? text[end - 1] : ' ';
  }

  void comment() {
    const std::size_t close = source_.find("#}", at_);
    if (close == std::string_view::npos) throw JinjaError("a comment does not end");
    end_tag(close + 2, close > at_ ? mark_before(source_, close) : ' ', true);
  }

  /// {% raw %} ... {% endraw %}, when that is what begins here.
  bool raw_block() {
    std::size_t at = at_;
    const auto take = [&](std::string_view word) {
      while (at < source_.size() && std::isspace(static_cast<unsigned char>(source_[at])))
        ++at;
      if (!source_.substr(at).starts_with(word)) return false;
      at += word.size();
      return true;
    };
    if (!take("raw")) return false;
    char mark = ' ';
    if (take("-")) {
      mark = '-';
    } else if (take("+")) {
      mark = '+';
    }
    if (!take("%}")) return false;
    end_tag(at, mark, true);
    // Nothing in a raw block has a meaning but its end: comments and strings are data there, and so is a "{%" of
    // anything else.
    for (std::size_t open = at_; (open = source_.find("{%", open)) != std::string_view::npos; ++open) {
      at = open + 2;
      if (!take("-")) take("+");
      if (!take("endraw")) continue;
      mark = take("-") ? '-' : take("+") ? '+' : ' ';
      if (!take("%}")) continue;
      add_data(source_.substr(at_, open - at_), open);
      end_tag(at, mark, true);
      return true;
    }
    throw JinjaError("a raw block does not end");
  }

  // Within brackets "}}" and "%}" are no end, as in {{ {'a': {}} }}. Outside them "-" and "+" belong to the end only
  // where it follows at once; an output has no "+" there.
  void tag(bool is_output) {
    add(is_output ? Kind::output_begin : Kind::block_begin, "");
    std::string open_brackets;
    const std::string_view close = is_output ? "}}" : "%}";
    for (;;) {
      while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_])))
        advance(at_ + 1);
      if (at_ >= source_.size()) throw JinjaError("a tag does not end");
      const std::string_view rest = source_.substr(at_);
      if (open_brackets.empty()) {
        const bool has_mark = (rest[0] == '-' || (rest[0] == '+' && !is_output)) && rest.substr(1).starts_with(close);
        if (has_mark || rest.starts_with(close)) {
          const char mark = has_mark ? rest[0] : ' ';
          add(is_output ? Kind::output_end : Kind::block_end, "");
          return end_tag(at_ + (has_mark ? 3 : 2), mark, !is_output);
        }
      }
      expression_token(rest, open_brackets);
    }
  }

  void expression_token(std::string_view rest, std::string& open_brackets) {
    if (rest[0] == '"' || rest[0] == '\'') return string_token(rest);
    if (is_digit(rest[0])) return number_token(rest);
    if (is_name_character(rest[0])) {
      const std::size_t end = std::find_if_not(rest.begin(), rest.end(), is_name_character) - rest.begin();
      add(Kind::name, std::string(rest.substr(0, end)));
      return advance(at_ + end);
    }
    constexpr std::array<std::string_view, 6> kLong{"**", "//", "==", "!=", "<=", ">="};
    const bool is_long = std::find(kLong.begin(), kLong.end(), rest.substr(0, 2)) != kLong.end();
    const std::string symbol(rest.substr(0, is_long ? 2 : 1));
    if (!is_long && std::string_view("+-*/%~()[]{}.:,|=<>").find(symbol) == std::string_view::npos)
      throw JinjaError("unexpected character \"" + symbol + "\"");
    balance(symbol[0], open_brackets);
    add(Kind::symbol, symbol);
    advance(at_ + symbol.size());
  }

  static void balance(char symbol, std::string& open_brackets) {
    constexpr std::string_view kOpen = "([{", kClose = ")]}";
    if (kOpen.find(symbol) != std::string_view::npos) open_brackets += symbol;
    const std::size_t kind = kClose.find(symbol);
    if (kind == std::string_view::npos) return;
    if (open_brackets.empty() || open_brackets.back() != kOpen[kind])
      throw JinjaError(std::string("unexpected \"") + symbol + "\"");
    open_brackets.pop_back();
  }

  void string_token(std::string_view rest) {
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != rest[0])
      end += rest[end] == '\\' ? 2 : 1;
    if (end >= rest.size()) throw JinjaError("a string does not end");
    add(Kind::string, unescaped(rest.substr(1, end - 1)));
    advance(at_ + end + 1);
  }

  void number_token(std::string_view rest) {
    const auto digits_from = [&](std::size_t at) {
      while (at < rest.size() && (is_digit(rest[at]) || rest[at] == '_'))
        ++at;
      return at;
    };
    std::size_t end = digits_from(0);
    bool is_real = false;
    if (end + 1 < rest.size() && rest[end] == '.' && is_digit(rest[end + 1])) {
      end = digits_from(end + 1);
      is_real = true;
    }
    if (end < rest.size() && (rest[end] == 'e' || rest[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < rest.size() && (rest[exponent] == '+' || rest[exponent] == '-')) ++exponent;
      if (exponent < rest.size() && is_digit(rest[exponent])) {
        end = digits_from(exponent);
        is_real = true;
      }
    }
    std::string text(rest.substr(0, end));
    std::erase(text, '_');
    add(is_real ? Kind::real : Kind::integer, std::move(text));
    advance(at_ + end);
  }

  std::string_view source_;
  std::size_t at_ = 0, line_ = 1;
  bool at_line_begin_ = true;
  std::vector<JinjaToken> tokens_;
};

}  // namespace

std::vector<JinjaToken> jinja_tokens(std::string_view source) {
  constexpr std::size_t kLongest = 256 << 10;
  if (source.size() > kLongest) throw JinjaError("the template is longer than 256 KiB");
  const std::string text = with_plain_lines(source);
  return Lexer(text).tokens();
}

}  // namespace multicard
