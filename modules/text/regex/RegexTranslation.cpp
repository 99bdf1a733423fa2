#include "text/regex/RegexTranslation.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "text/regex/RegexInterval.hpp"
#include "text/regex/RegexParser.hpp"
#include "text/regex/RegexSet.hpp"
#include "text/regex/RegexSpelling.hpp"

namespace multicard {

namespace {

using Options = RegexOptions;

/// Rewrites a pattern by recursive descent.
class Translation {
 public:
  Translation(RegexCursor cursor, const CodePointSet& ignored) : cursor_(std::move(cursor)), ignored_(ignored) {}

  std::string whole() {
    std::string result = alternatives({&ignored_});
    if (!cursor_.at_end()) cursor_.refuse("a closing parenthesis has no opening one");
    return result;
  }

 private:
  /// Up to the end of the group.
  std::string alternatives(Options options) {
    constexpr int kDeepest = 100;
    if (++depth_ > kDeepest) cursor_.refuse("its groups are nested too deeply");
    std::string result;
    // Characters are collected, because folds cross them: "ss" also matches ß. One that is repeated stands alone.
    std::u32string row;
    const auto finish_row = [&] {
      result += counted(spelt_row(row, options));
      row.clear();
    };
    while (!cursor_.at_end() && cursor_.peek() != ')') {
      if (cursor_.take("(?#")) {
        cursor_.until(")");
        continue;
      }
      const std::optional<char32_t> literal = literal_character();
      if (literal && !repetition_follows()) {
        row += *literal;
        continue;
      }
      finish_row();
      if (literal) {
        result += repeated(counted(any_spelling(*literal, options)));
      } else if (cursor_.take("|")) {
        result += "|";
      } else if (const std::optional<Options> changed = option_group(options)) {
        // (?i) holds to the end of the group, alternatives included: a(?i)b|c is a(?i:b|c).
        result += "(?:" + alternatives(*changed) + ")";
      } else {
        result += atom(options);
      }
    }
    finish_row();
    --depth_;
    return result;
  }

  /// Takes a character that stands for itself or is escaped.
  std::optional<char32_t> literal_character() {
    const char first = cursor_.peek();
    if (first == '\\') {
      RegexCursor ahead = cursor_;
      ahead.skip(1);
      if (std::string_view("wWsSdDhHbBAzZRNO").find(ahead.peek()) != std::string_view::npos && ahead.peek() != '\0')
        return std::nullopt;
      if ((ahead.peek() == 'p' || ahead.peek() == 'P') && ahead.peek(1) == '{') return std::nullopt;
      const char32_t character = ahead.character_escape();
      cursor_ = ahead;
      return character;
    }
    if (std::string_view("^$.|()[*+?").find(first) != std::string_view::npos && first != '\0') return std::nullopt;
    if (first == '{' && regex_interval_at(cursor_.rest())) return std::nullopt;
    return cursor_.next();
  }

  bool repetition_follows() const {
    const char first = cursor_.peek();
    return first == '*' || first == '+' || first == '?' || (first == '{' && regex_interval_at(cursor_.rest()));
  }

  /// (?i) and the like; the group (?i: is none of these.
  std::optional<Options> option_group(const Options& options) {
    if (!cursor_.starts_with("(?")) return std::nullopt;
    RegexCursor ahead = cursor_;
    ahead.skip(2);
    const std::optional<Options> changed = changed_options(ahead, options);
    if (!changed || !ahead.take(")")) return std::nullopt;
    cursor_ = ahead;
    return changed;
  }

  /// Letters of options as in (?i-m; nothing where other letters stand.
  static std::optional<Options> changed_options(RegexCursor& cursor, Options options) {
    // Ruby's m is what Perl calls s (the dot matches line feeds too); Perl's m always holds. Free spacing (x) is
    // refused: it would give another meaning to white space in the pattern.
    bool is_on = true;
    while (cursor.peek() != ')' && cursor.peek() != ':') {
      if (cursor.take("-")) {
        is_on = false;
      } else if (cursor.take("i")) {
        options.ignores_case = is_on;
      } else if (cursor.take("m")) {
        options.dot_is_all = is_on;
      } else {
        return std::nullopt;
      }
    }
    return options;
  }

  std::string atom(const Options& options) {
    switch (cursor_.peek()) {
      case '^':
      case '$':
        return anchor(std::string(1, cursor_.peek()));
      case '.':
        cursor_.skip(1);
        return repeated(options.dot_is_all ? any_character() : but_newline());
      case '(':
        return group(options);
      case '[':
        return repeated(expanded(options, [&] { return set(options); }));
      case '\\':
        cursor_.skip(1);
        return escape();
      default:
        // Only * + ? and an interval are left, because literal_character() has taken everything else.
        cursor_.refuse("a repetition has nothing to repeat");
    }
  }

  /// What a part becomes counts: a short pattern may spell out the same large class again and again.
  std::string counted(std::string part) {
    constexpr std::size_t kLongest = 4 << 20;
    num_written_ += part.size();
    if (num_written_ > kLongest) cursor_.refuse("it becomes too long when its classes are spelt out");
    return part;
  }

  /// What a class becomes that stands here. One that is written in the same way as one before is not worked out again.
  template <class Expand>
  std::string expanded(const Options& options, Expand&& expand) {
    const std::string_view rest = cursor_.rest();
    for (const Expansion& known : expansions_)
      if (known.ignores_case == options.ignores_case && rest.starts_with(known.written)) {
        cursor_.skip(known.written.size());
        return counted(known.result);
      }
    std::string result = expand();
    constexpr std::size_t kMost = 32;
    const std::string_view written = rest.substr(0, rest.size() - cursor_.rest().size());
    if (expansions_.size() < kMost) expansions_.push_back({written, options.ignores_case, result});
    return counted(std::move(result));
  }

  static std::string any_character() { return pcre2_set(CodePointSet({{0, CodePointSet::kLast}})); }
  static std::string but_newline() { return pcre2_set(CodePointSet::of('\n').complement()); }

  std::string anchor(std::string text) {
    cursor_.skip(1);
    if (repetition_follows()) cursor_.refuse("it repeats an anchor");
    return text;
  }

  std::string escape() {
    const char kind = cursor_.peek();
    if (kind == 'A' || kind == 'z' || kind == 'Z') return anchor(std::string("\\") + kind);
    // PCRE2's \b goes by its own \w, which differs from Oniguruma's.
    if (kind == 'b' || kind == 'B') {
      if (word_.empty()) word_ = pcre2_set(word_set(ClassPlace::alone), ignored_);
      const std::string after = "(?<=" + word_ + ")", not_after = "(?<!" + word_ + ")";
      const std::string before = "(?=" + word_ + ")", not_before = "(?!" + word_ + ")";
      return anchor(counted(kind == 'b' ? "(?:" + after + not_before + "|" + not_after + before + ")"
                                        : "(?:" + after + before + "|" + not_after + not_before + ")"));
    }
    // Spelt out, because a build option of PCRE2 may confine its \R to CR and LF.
    if (cursor_.take("R")) return repeated("(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])");
    if (cursor_.take("N")) return repeated(but_newline());
    if (cursor_.take("O")) return repeated(any_character());
    return repeated(
        expanded({&ignored_}, [&] { return pcre2_set(*cursor_.class_escape(ClassPlace::alone), ignored_); }));
  }

  // The fold comes before the negation, so that (?i)[^a] does not match A. A negated set has no longer spellings: it
  // matches single characters only.
  std::string set(const Options& options) {
    cursor_.skip(1);
    ParsedSet parsed = parse_set(cursor_);
    if (!options.ignores_case) return pcre2_set(parsed.set(), ignored_);
    const std::string longer = parsed.negated ? "" : longer_spellings(parsed.members, options);
    parsed.members = case_closed(parsed.members);
    const std::string characters = pcre2_set(parsed.set(), ignored_);
    return longer.empty() ? characters : fmt::format("(?:{}{})", characters, longer);
  }

  // No group captures: references to groups are refused, so that their numbers and names mean nothing, and PCRE2
  // matches faster without. A lookbehind looks like the beginning of a name, (?<= and (?<name>, and is tried first. One
  // whose length PCRE2 cannot bound is refused when the pattern is compiled.
  std::string group(Options options) {
    cursor_.skip(1);
    if (cursor_.peek() == '*') cursor_.refuse("it has a callout");
    std::string opening = "(?:";
    bool looks_around = false;
    if (cursor_.take("?")) {
      if (cursor_.take(":")) {
      } else if (cursor_.take(">")) {
        opening = "(?>";
      } else if (const std::string look = look_around(); !look.empty()) {
        opening = look;
        looks_around = true;
      } else if (cursor_.take("<")) {
        cursor_.until(">");  // a name, which nothing refers to
      } else {
        const std::optional<Options> changed = changed_options(cursor_, options);
        if (!changed || !cursor_.take(":")) cursor_.refuse("it has a group of an unsupported kind");
        options = *changed;
      }
    }
    std::string result = opening + alternatives(options) + ")";
    if (!cursor_.take(")")) cursor_.refuse("a parenthesis is not closed");
    if (!looks_around) return repeated(std::move(result));
    if (repetition_follows()) cursor_.refuse("it repeats an anchor");
    return result;
  }

  std::string look_around() {
    for (const char* kind : {"=", "!", "<=", "<!"})
      if (cursor_.take(kind)) return std::string("(?") + kind;
    return "";
  }

  /// The item with the repetitions that follow it.
  std::string repeated(std::string item) {
    while (true) {
      if (const char sign = cursor_.peek(); sign == '*' || sign == '+' || sign == '?') {
        cursor_.skip(1);
        item += sign;
        if (cursor_.take("?")) {
          item += '?';
        } else if (cursor_.take("+")) {
          item += '+';
        }
        if (repetition_follows()) cursor_.refuse("it repeats a repetition");
        return item;
      }
      const std::optional<RegexInterval> interval =
          cursor_.peek() == '{' ? regex_interval_at(cursor_.rest()) : std::optional<RegexInterval>{};
      if (!interval) return item;
      cursor_.skip(interval->length);
      if (interval->most >= 0 && interval->most < interval->least)
        cursor_.refuse("the bounds of a repetition are the wrong way round");
      // Always with a lower bound, for the sake of PCRE2 before 10.43 (regex_interval_at).
      item += fmt::format("{{{},{}}}", interval->least, interval->most < 0 ? "" : std::to_string(interval->most));
      if (!interval->is_exact && cursor_.take("?")) item += '?';
      // {1,3}+ is not possessive and {3}? not lazy: both repeat the repetition.
      if (!repetition_follows()) return item;
      item = "(?:" + item + ")";
    }
  }

  struct Expansion {
    std::string_view written;  ///< in the pattern
    bool ignores_case;
    std::string result;
  };

  RegexCursor cursor_;
  const CodePointSet& ignored_;
  std::vector<Expansion> expansions_;
  std::string word_;  ///< the class of \w; empty: not yet worked out
  std::size_t num_written_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string translated_regex(const std::string& pattern, const std::string& refusal, const CodePointSet& ignored) {
  return Translation(RegexCursor(pattern, refusal), ignored).whole();
}

}  // namespace multicard
