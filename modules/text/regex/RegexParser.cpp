#include "text/regex/RegexParser.hpp"

#include <algorithm>
#include <cctype>

#include "base/Error.hpp"
#include "base/Utf8.hpp"

namespace multicard {

bool RegexCursor::take(std::string_view text) {
  if (!starts_with(text)) return false;
  at_ += text.size();
  return true;
}

char32_t RegexCursor::next() {
  return next_character(pattern_, at_);
}

std::string_view RegexCursor::until(std::string_view end) {
  const std::size_t found = pattern_.find(end, at_);
  if (found == std::string_view::npos) refuse("a part of it is not closed");
  const std::string_view text = pattern_.substr(at_, found - at_);
  at_ = found + end.size();
  return text;
}

void RegexCursor::refuse(const std::string& why) const {
  throw DataError(refusal_, why);
}

// Escapes that PCRE2 would understand otherwise: \h is a hexadecimal digit here and horizontal space there, \s and \d
// depend there on PCRE2_UCP, and \p{^L} and \P{L} are the same, so that \P{^L} is \p{L}.
std::optional<CodePointSet> RegexCursor::class_escape(ClassPlace place) {
  const char kind = peek();
  const bool is_negated = std::isupper(static_cast<unsigned char>(kind)) != 0;
  CodePointSet set;
  switch (std::tolower(static_cast<unsigned char>(kind))) {
    case 'w':
      set = word_set(place);
      break;
    case 's':
      set = *posix_set("space");
      break;
    case 'd':
      set = *posix_set("digit");
      break;
    case 'h':
      set = *posix_set("xdigit");
      break;
    case 'p': {
      if (peek(1) != '{') return std::nullopt;
      skip(2);
      const bool has_caret = take("^");
      const std::string name(until("}"));
      const std::optional<CodePointSet> named = property_set(name, place);
      if (!named) refuse("the property " + name + " is not supported");
      return is_negated != has_caret ? named->complement() : *named;
    }
    default:
      return std::nullopt;
  }
  skip(1);
  return is_negated ? set.complement() : set;
}

char32_t RegexCursor::digits(int base, std::size_t most) {
  const auto digit = [&](char character) {
    const bool fits =
        base == 8 ? character >= '0' && character <= '7' : std::isxdigit(static_cast<unsigned char>(character)) != 0;
    if (!fits) return -1;
    return character <= '9' ? character - '0' : (character | 0x20) - 'a' + 10;
  };
  char32_t value = 0;
  for (std::size_t i = 0; i < most && digit(peek()) >= 0; ++i, skip(1))
    value = value * static_cast<char32_t>(base) + static_cast<char32_t>(digit(peek()));
  return value;
}

// \v is the vertical tab in Oniguruma and all vertical space in PCRE2; \0 begins an octal number; \x80 to \xFF without
// braces are bytes of an encoded character, not characters. Everything leaves here as a code point, so that PCRE2 gets
// no escape whose meaning differs.
char32_t RegexCursor::character_escape() {
  if (at_end()) refuse("it ends with a backslash");
  const std::string_view letters = "tnrfvae", meanings = "\t\n\r\f\v\a\x1b";
  const std::size_t letter = letters.find(peek());
  if (letter != std::string_view::npos) {
    skip(1);
    return static_cast<char32_t>(meanings[letter]);
  }
  if (peek() == '0') return digits(8, 3);
  if (take("x{")) {
    const char32_t value = digits(16, 6);
    if (!take("}") || value > CodePointSet::kLast || (value >= 0xD800 && value <= 0xDFFF))
      refuse("\\x{} does not name a character");
    return value;
  }
  if (take("x")) {
    const char32_t value = digits(16, 2);
    if (value >= 0x80) refuse("\\x above 7F without braces names a byte");
    return value;
  }
  // What Oniguruma knows and this program does not; any other letter stands for itself.
  if (std::isdigit(static_cast<unsigned char>(peek()))) refuse("it refers to a group");
  if (std::string_view("AbBcCGgkKMNoORuXyYzZ").find(peek()) != std::string_view::npos)
    refuse(std::string("\\") + peek() + " is not supported there");
  return next();
}

namespace {

std::optional<CodePointSet> posix_class(RegexCursor& cursor) {
  if (!cursor.take("[:")) return std::nullopt;
  const bool is_negated = cursor.take("^");
  const std::string name(cursor.until(":]"));
  const std::optional<CodePointSet> set = posix_set(name);
  if (!set) cursor.refuse("the class [:" + name + ":] is unknown");
  return is_negated ? set->complement() : *set;
}

/// The members of a set up to && or the closing bracket.
class MembersParser {
 public:
  // Hyphens in odd places ([\w-a], [a-\d], [--x], [a-c-e]) are refused: Oniguruma takes some of them with a warning,
  // and no tokenizer has them. A wrong guess would change ids unnoticed.
  MembersParser(RegexCursor& cursor, int depth) : cursor_(cursor), depth_(depth) {}

  CodePointSet parse(bool begins_set) {
    if (begins_set && cursor_.peek() == ']') {  // right after the opening bracket it is a member
      if (depth_ > 0) cursor_.refuse("a set inside a set begins with ]");
      character();
    }
    while (cursor_.peek() != ']' && !cursor_.starts_with("&&")) {
      if (cursor_.at_end()) cursor_.refuse("a set is not closed");
      if (std::optional<CodePointSet> set = whole_set()) {
        result_ = result_ | *set;
        if (cursor_.peek() == '-' && cursor_.peek(1) != ']')
          cursor_.refuse("a set has a range that begins with a class");
      } else {
        character();
      }
    }
    return result_ | CodePointSet(std::move(ranges_));
  }

 private:
  std::optional<CodePointSet> whole_set() {
    if (std::optional<CodePointSet> set = posix_class(cursor_)) return set;
    if (cursor_.take("[")) return parse_set(cursor_, depth_ + 1).set();
    if (cursor_.peek() != '\\') return std::nullopt;
    RegexCursor ahead = cursor_;
    ahead.skip(1);
    std::optional<CodePointSet> set = ahead.class_escape(ClassPlace::inside_set);
    if (set) cursor_ = ahead;
    return set;
  }

  char32_t one_character() {
    if (!cursor_.take("\\")) return cursor_.next();
    return cursor_.take("b") ? U'\b' : cursor_.character_escape();
  }

  void character() {
    if (cursor_.starts_with("--")) cursor_.refuse("a range of a set begins with -");
    const char32_t first = one_character();
    char32_t last = first;
    if (cursor_.peek() == '-' && cursor_.peek(1) != ']') {
      cursor_.skip(1);
      if (cursor_.at_end() || whole_set() || cursor_.starts_with("&&")) cursor_.refuse("a range of a set has no end");
      last = one_character();
      if (last < first) cursor_.refuse("a range of a set is empty");
      if (cursor_.peek() == '-' && cursor_.peek(1) != ']') cursor_.refuse("a range of a set has two ends");
    }
    ranges_.push_back({first, last});
  }

  RegexCursor& cursor_;
  int depth_;
  CodePointSet result_;
  std::vector<CodePointSet::Range> ranges_;
};

}  // namespace

// && binds more weakly than standing next to each other, and ^ still more weakly: [^ab&&bc] is what lies outside of b.
// The negation is returned apart, because case folding comes before it.
ParsedSet parse_set(RegexCursor& cursor, int depth) {
  constexpr int kDeepest = 50;
  if (depth > kDeepest) cursor.refuse("its sets are nested too deeply");
  const bool negated = cursor.take("^");
  CodePointSet members = MembersParser(cursor, depth).parse(true);
  while (cursor.take("&&"))
    members = members & MembersParser(cursor, depth).parse(false);
  cursor.skip(1);
  return {std::move(members), negated};
}

}  // namespace multicard
