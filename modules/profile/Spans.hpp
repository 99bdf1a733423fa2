#pragma once
/// \file Sets of intervals of time.

#include <cstdint>
#include <vector>

namespace multicard {

/// From `begin` to `end`, nanoseconds of one clock; end >= begin.
struct Span {
  std::int64_t begin = 0, end = 0;

  std::int64_t length() const { return end - begin; }
};

/// The union: disjoint spans in order of time. Spans that touch become one.
std::vector<Span> united(std::vector<Span> spans);

/// Nanoseconds that lie in a span; `spans` are disjoint, as are those of united().
std::int64_t total_length(const std::vector<Span>& spans);

/// Nanoseconds that lie in spans of both unions.
std::int64_t common_length(const std::vector<Span>& one, const std::vector<Span>& other);

}  // namespace multicard
