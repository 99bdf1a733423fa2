#include "profile/Spans.hpp"

#include <algorithm>

namespace multicard {

std::vector<Span> united(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> out;
  for (const Span& span : spans)
    if (out.empty() || span.begin > out.back().end)
      out.push_back(span);
    else
      out.back().end = std::max(out.back().end, span.end);
  return out;
}

std::int64_t total_length(const std::vector<Span>& spans) {
  std::int64_t sum = 0;
  for (const Span& span : spans)
    sum += span.length();
  return sum;
}

std::int64_t common_length(const std::vector<Span>& one, const std::vector<Span>& other) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
    sum += std::max<std::int64_t>(0, std::min(one[i].end, other[j].end) - std::max(one[i].begin, other[j].begin));
    if (one[i].end < other[j].end)
      ++i;
    else
      ++j;
  }
  return sum;
}

}  // namespace multicard
