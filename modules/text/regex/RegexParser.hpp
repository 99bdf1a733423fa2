#pragma once
/// \file Reading a pattern character by character: what the parsers of patterns and of sets share.

#include <optional>
#include <string>
#include <string_view>

#include "text/unicode/CodePointSet.hpp"
#include "text/unicode/UnicodeClasses.hpp"

namespace multicard {

/// A place in a pattern.
class RegexCursor {
 public:
  RegexCursor(std::string_view pattern, std::string refusal) : pattern_(pattern), refusal_(std::move(refusal)) {}

  bool at_end() const { return at_ == pattern_.size(); }
  /// The byte `distance` further; 0 past the end.
  char peek(std::size_t distance = 0) const {
    return at_ + distance < pattern_.size() ? pattern_[at_ + distance] : '\0';
  }
  bool starts_with(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  std::string_view rest() const { return pattern_.substr(at_); }
  void skip(std::size_t num_bytes) { at_ += num_bytes; }
  /// Skips the text when the pattern continues with it.
  bool take(std::string_view text);
  /// The next character.
  char32_t next();
  /// The text before `end`, and skips both.
  std::string_view until(std::string_view end);
  [[noreturn]] void refuse(const std::string& why) const;

  /// \name After a backslash
  /// @{
  /// The class of \w \s \d \h \p{} and their negations; nothing for anything else.
  std::optional<CodePointSet> class_escape(ClassPlace place);
  /// The character that an escape stands for.
  char32_t character_escape();
  /// @}

 private:
  char32_t digits(int base, std::size_t most);

  std::string_view pattern_;
  std::string refusal_;
  std::size_t at_ = 0;
};

/// A set in brackets, from after its opening bracket through the closing one. `negated`: the outermost ^, which is not
/// applied to the members.
struct ParsedSet {
  CodePointSet members;
  bool negated = false;
  CodePointSet set() const { return negated ? members.complement() : members; }
};
ParsedSet parse_set(RegexCursor& cursor, int depth = 0);

}  // namespace multicard
