#pragma once
/// \file A part of a text.

#include <algorithm>
#include <cstddef>
#include <span>

namespace multicard {

/// In bytes, `end` not included.
struct TextRange {
  std::size_t begin = 0, end = 0;

  bool operator==(const TextRange&) const = default;
};

/// The first of ascending ranges that does not end before or at `place`.
inline std::span<const TextRange>::iterator first_after(std::span<const TextRange> ranges, std::size_t place) {
  return std::partition_point(ranges.begin(), ranges.end(), [&](const TextRange& range) { return range.end <= place; });
}

}  // namespace multicard
