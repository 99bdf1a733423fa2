#include "base/Quantiles.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace multicard {

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  // Type 7 of Hyndman and Fan (1996), the default of NumPy and R.
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

double median(std::vector<double> values) {
  return percentile(std::move(values), 0.5);
}

}  // namespace multicard
