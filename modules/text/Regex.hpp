#pragma once
/// \file Regular expressions as tokenizer files write them (Oniguruma's syntax and its Unicode classes).

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "text/Utf8.hpp"

namespace multicard {

/// A compiled pattern. Immutable: any number of threads may use one.
class Regex {
 public:
  struct Match {
    std::size_t begin, end;
  };

  /// A pattern that is wrong, or that the two engines would read differently, is a DataError naming it.
  explicit Regex(const std::string& pattern);
  /// Matches exactly this text.
  static Regex literal(std::string_view text);

  /// The first match in the valid UTF-8 `text` that begins at `from` or later. A DataError when the pattern needs more
  /// steps or memory than is reasonable.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

  /// Calls `visit` for one match after the other; an empty one does not directly follow another.
  template <class Visit>
  void for_each(std::string_view text, const Visit& visit) const {
    std::size_t last_end = ~std::size_t{0};
    for (std::size_t from = 0; from <= text.size();) {
      const std::optional<Match> match = find(text, from);
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
  struct Code;
  std::shared_ptr<const Code> code_;
};

}  // namespace multicard
