#include "profile/Profile.hpp"

#include <algorithm>
#include <numeric>

namespace multicard {

namespace {

/// Of sorted values, as percentile() of base/Quantiles.hpp, which takes doubles.
double sorted_percentile(const std::vector<std::int64_t>& values, double p) {
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const auto step = static_cast<double>(values[above] - values[below]);
  return static_cast<double>(values[below]) + (position - static_cast<double>(below)) * step;
}

}  // namespace

Distribution distribution_of(std::vector<std::int64_t> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  Distribution found;
  found.count = static_cast<std::int64_t>(values.size());
  found.total = std::accumulate(values.begin(), values.end(), std::int64_t{0});
  found.min = values.front();
  found.max = values.back();
  found.mean = static_cast<double>(found.total) / static_cast<double>(found.count);
  found.median = sorted_percentile(values, 0.5);
  found.p95 = sorted_percentile(values, 0.95);
  return found;
}

std::optional<double> CopyRow::bandwidth() const {
  if (without_bytes > 0 || time.total == 0) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(time.total);
}

}  // namespace multicard
