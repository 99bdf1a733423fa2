#include "text/Regex.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include <fmt/format.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

// Where PCRE2 reads a class differently from Oniguruma, it is spelt out.
constexpr std::string_view kSpaces =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
constexpr std::string_view kWordCharacters = "\\p{L}\\p{M}\\p{Nd}\\p{Pc}";

/// How an error names a pattern.
std::string quoted(const std::string& what, const std::string& pattern) {
  constexpr std::size_t kMostShown = 200;
  return fmt::format("{} {}{}", what, pattern.substr(0, kMostShown), pattern.size() > kMostShown ? "..." : "");
}

/// Rewrites a pattern for PCRE2.
class Translation {
 public:
  Translation(const std::string& pattern, const std::string& what) : pattern_(pattern), what_(what) {
    while (at_ < pattern_.size())
      step();
  }
  const std::string& result() const { return result_; }

 private:
  void step() {
    const char character = pattern_[at_];
    if (character == '\\') return escape();
    if (is_in_class_ && character == '[') {
      const std::size_t end = next() == ':' ? pattern_.find(":]", at_) : std::string::npos;
      if (end == std::string::npos) refuse("it has a set inside a set");
      return copy(end + 2 - at_);
    }
    if (is_in_class_ && character == '&' && next() == '&') refuse("it intersects sets");
    if (character == '[' && !is_in_class_) {
      is_in_class_ = true;
      class_begin_ = at_ + (next() == '^' ? 2 : 1);
    } else if (character == ']' && at_ != class_begin_) {
      is_in_class_ = false;
    }
    copy(1);
  }

  void escape() {
    switch (next()) {
      case 's':
      case 'S':
        return character_class('S', kSpaces);
      case 'w':
      case 'W':
        return character_class('W', kWordCharacters);
      case 'p':
      case 'P':
        return property();
      case 'h':
      case 'H':
        refuse("\\h means different things to different engines");
      default:
        copy(2);
    }
  }

  void character_class(char negated, std::string_view members) {
    const bool is_negated = next() == negated;
    if (is_in_class_ && is_negated) {
      copy(2);  // a negated class inside a set cannot be spelt out
    } else {
      if (!is_in_class_) result_ += is_negated ? "[^" : "[";
      result_ += members;
      if (!is_in_class_) result_ += "]";
      at_ += 2;
    }
  }

  /// \p{Han} is a script; PCRE2 by itself would take the wider "script extensions".
  void property() {
    const std::size_t begin = at_ + 3, end = pattern_.find('}', at_);
    if (at_ + 2 >= pattern_.size() || pattern_[at_ + 2] != '{' || end == std::string::npos) return copy(2);
    const bool is_negated = pattern_[begin] == '^';
    const std::string name = pattern_.substr(begin + (is_negated ? 1 : 0), end - begin - (is_negated ? 1 : 0));
    if (name.size() <= 2 || name == "Any") return copy(end + 1 - at_);
    result_ += fmt::format("{}{{{}sc:{}}}", pattern_.substr(at_, 2), is_negated ? "^" : "", name);
    at_ = end + 1;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw DataError(quoted(what_, pattern_) + " cannot be used", why);
  }

  char next() const { return at_ + 1 < pattern_.size() ? pattern_[at_ + 1] : '\0'; }

  void copy(std::size_t length) {
    result_.append(pattern_, at_, length);
    at_ += length;
  }

  const std::string &pattern_, &what_;
  std::string result_;
  std::size_t at_ = 0, class_begin_ = 0;
  bool is_in_class_ = false;
};

/// What a thread needs for matching, made once.
struct Scratch {
  Scratch() {
    constexpr std::size_t kFirstStack = 64 << 10, kLargestStack = 64 << 20;
    stack = pcre2_jit_stack_create(kFirstStack, kLargestStack, nullptr);
    data = pcre2_match_data_create(1, nullptr);
    context = pcre2_match_context_create(nullptr);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Scratch() {
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    pcre2_jit_stack_free(stack);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  pcre2_jit_stack* stack;
  pcre2_match_data* data;
  pcre2_match_context* context;
};

std::string error_text(int code) {
  std::array<unsigned char, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR units(std::string_view text) {
  static constexpr unsigned char kNothing = 0;
  return text.data() == nullptr ? &kNothing : reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

struct Regex::Code {
  ~Code() { pcre2_code_free(code); }
  std::string pattern;
  RegexUse use;
  pcre2_code* code = nullptr;
  bool is_compiled_to_machine_code = false;
};

Regex::Regex(const std::string& pattern) : Regex(pattern, {}, Extent::part) {}

Regex Regex::whole(const std::string& pattern, RegexUse use) {
  return {pattern, std::move(use), Extent::whole};
}

Regex::Regex(const std::string& pattern, RegexUse use, Extent extent) {
  constexpr std::size_t kLongest = 64 << 10;
  const std::string refusal = quoted(use.what, pattern) + " cannot be used";
  if (pattern.size() > kLongest) throw DataError(refusal, "it is longer than 64 KiB");
  const std::string translated = Translation(pattern, use.what).result();
  int number = 0;
  PCRE2_SIZE at = 0;
  auto code = std::make_shared<Code>();
  code->pattern = pattern;
  code->use = std::move(use);
  const std::uint32_t ends = extent == Extent::whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0;
  code->code = pcre2_compile(units(translated), translated.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | ends,
                             &number, &at, nullptr);
  if (!code->code) throw DataError(refusal, error_text(number));
  code->is_compiled_to_machine_code = pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE) == 0;
  code_ = std::move(code);
}

Regex Regex::literal(std::string_view text) {
  std::string pattern;
  for (const char character : text) {
    const bool is_ascii = static_cast<unsigned char>(character) < 0x80;
    if (character == '\0') {
      pattern += "\\x{0}";
      continue;
    }
    if (is_ascii && !std::isalnum(static_cast<unsigned char>(character))) pattern += '\\';
    pattern += character;
  }
  return Regex(pattern);
}

std::optional<Regex::Match> Regex::find(std::string_view text, std::size_t from) const {
  static thread_local Scratch scratch;
  // In proportion to the text, so that long runs of spaces are fine and a hostile pattern still comes to an end.
  const std::uint64_t limit = code_->use.num_steps + 100 * (text.size() - from);
  pcre2_set_match_limit(scratch.context, static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, ~std::uint32_t{0})));
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (code_->is_compiled_to_machine_code)
    result = pcre2_jit_match(code_->code, units(text), text.size(), from, 0, scratch.data, scratch.context);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT)
    result = pcre2_match(code_->code, units(text), text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, scratch.data,
                         scratch.context);
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) throw DataError(quoted(code_->use.what, code_->pattern) + " gives up on a text", error_text(result));
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(scratch.data);
  return Match{offsets[0], offsets[1]};
}

}  // namespace multicard
