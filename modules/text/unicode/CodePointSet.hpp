#pragma once
/// \file Sets of Unicode code points.

#include <vector>

namespace multicard {

/// A set of code points as sorted ranges that neither overlap nor touch. A value: operations make new sets.
class CodePointSet {
 public:
  struct Range {
    char32_t first, last;  ///< both are members
  };
  static constexpr char32_t kLast = 0x10FFFF;

  CodePointSet() = default;
  /// From ranges in any order.
  explicit CodePointSet(std::vector<Range> ranges);
  static CodePointSet of(char32_t character) { return CodePointSet({{character, character}}); }

  const std::vector<Range>& ranges() const { return ranges_; }
  bool is_empty() const { return ranges_.empty(); }
  bool contains(char32_t character) const;
  bool includes(const CodePointSet& other) const { return (other - *this).is_empty(); }

  /// All other code points.
  CodePointSet complement() const;
  friend CodePointSet operator|(const CodePointSet& a, const CodePointSet& b);
  friend CodePointSet operator&(const CodePointSet& a, const CodePointSet& b);
  friend CodePointSet operator-(const CodePointSet& a, const CodePointSet& b) { return a & b.complement(); }

 private:
  std::vector<Range> ranges_;
};

}  // namespace multicard
