#pragma once
/// \file Regular expressions as tokenizer files write them (Oniguruma's syntax and its Unicode classes).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/Utf8.hpp"

namespace multicard {

/// The members of a set that are what Rust's regex crate takes for \w: alphabetic characters, marks, digits,
/// connectors, joiners. The tokenizers library uses both that crate and Oniguruma, whose \w differs.
constexpr const char* kRustWordCharacters = "[:word:]\\x{200C}\\x{200D}";

/// What a pattern is for: how errors name it, and the number of steps that a match may always take.
struct RegexUse {
  std::string what = "the tokenizer's pattern";
  std::uint64_t num_steps = 10'000'000;
  std::string shown = {};  ///< in place of a pattern that was generated
};

/// A compiled pattern. Immutable: any number of threads may use one.
class Regex {
 public:
  struct Match {
    std::size_t begin, end;
  };

  /// Matches what the tokenizers library's Oniguruma matches, with any version of PCRE2. A pattern that is wrong, or
  /// that cannot be translated, is a DataError naming it.
  explicit Regex(const std::string& pattern);
  /// One in PCRE2's own syntax that matches a whole text or nothing.
  static Regex whole(const std::string& pattern, RegexUse use);
  /// Matches exactly this text.
  static Regex literal(std::string_view text);

  /// The first match in the valid UTF-8 `text` that begins at `from` or later. A DataError when the pattern needs more
  /// steps or memory than is reasonable.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

  /// Calls `visit` for one match after the other; an empty one does not directly follow another.
  template <class Visit>
  void for_each(std::string_view text, const Visit& visit) const {
    const Program& program = program_for(text);
    std::size_t last_end = ~std::size_t{0};
    for (std::size_t from = 0; from <= text.size();) {
      const std::optional<Match> match = find(program, text, from);
      if (!match) return;
      if (match->begin == match->end && match->end == last_end) {
        from += from < text.size() ? utf8_length(text[from]) : 1;
      } else {
        visit(*match);
        from = last_end = match->end;
      }
    }
  }

 private:
  enum class Extent { part, whole };
  struct Program;
  struct Code;

  Regex(const std::string& pattern, RegexUse use, Extent extent);

  /// The fast one, unless the text has characters that the installed PCRE2 knows otherwise.
  const Program& program_for(std::string_view text) const;
  std::optional<Match> find(const Program& program, std::string_view text, std::size_t from) const;

  std::shared_ptr<const Code> code_;
};

}  // namespace multicard
