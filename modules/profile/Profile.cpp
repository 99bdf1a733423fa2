#include "profile/Profile.hpp"

#include <algorithm>
#include <numeric>

#include "base/Quantiles.hpp"

namespace multicard {

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
