#include "text/unicode/CodePointSet.hpp"

#include <algorithm>
#include <utility>

namespace multicard {

// Ranges that touch are joined, too: complement() takes every place between two ranges for a gap, and the number of
// ranges decides whether a pattern names a category or lists characters (pcre2_set).
CodePointSet::CodePointSet(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  std::size_t size = 0;
  for (const Range& range : ranges_) {
    if (size > 0 && range.first <= ranges_[size - 1].last + 1) {
      ranges_[size - 1].last = std::max(ranges_[size - 1].last, range.last);
    } else {
      ranges_[size++] = range;
    }
  }
  ranges_.resize(size);
}

bool CodePointSet::contains(char32_t character) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), character,
                                      [](char32_t value, const Range& range) { return value < range.first; });
  return after != ranges_.begin() && character <= std::prev(after)->last;
}

// Surrogates are code points like any other here, so that two complements give the set back. No valid UTF-8 holds them;
// they are dropped where a set is written for PCRE2.
CodePointSet CodePointSet::complement() const {
  CodePointSet result;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (next < range.first) result.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLast) result.ranges_.push_back({next, kLast});
  return result;
}

CodePointSet operator|(const CodePointSet& a, const CodePointSet& b) {
  std::vector<CodePointSet::Range> ranges = a.ranges_;
  ranges.insert(ranges.end(), b.ranges_.begin(), b.ranges_.end());
  return CodePointSet(std::move(ranges));
}

// De Morgan, rather than a second walk through two lists of ranges: sets are worked out once for a pattern and never
// while text is matched.
CodePointSet operator&(const CodePointSet& a, const CodePointSet& b) {
  return (a.complement() | b.complement()).complement();
}

}  // namespace multicard
