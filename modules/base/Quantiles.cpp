#include "base/Quantiles.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace multicard {

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  return sorted_percentile(values, p);
}

double median(std::vector<double> values) {
  return percentile(std::move(values), 0.5);
}

}  // namespace multicard
