#pragma once
/// \file Medians and percentiles, the same in every table and report.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace multicard {

/// The value below which the share `p` (0 to 1) lies, linear between neighbours: at position p (n - 1) of the sorted
/// values, counted from 0 (type 7 of Hyndman and Fan (1996), the default of NumPy and R). \pre values, in ascending
/// order
template <class T>
double sorted_percentile(const std::vector<T>& values, double p) {
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return static_cast<double>(values[below]) +
         (position - static_cast<double>(below)) * static_cast<double>(values[above] - values[below]);
}

/// The same of values in any order; NaN of nothing. Values that are not finite must be left out by the caller.
double percentile(std::vector<double> values, double p);

/// The middle value, or the mean of the two in the middle; NaN of nothing.
double median(std::vector<double> values);

}  // namespace multicard
