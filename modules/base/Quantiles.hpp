#pragma once
/// \file Medians and percentiles, the same in every table and report.

#include <vector>

namespace multicard {

/// The value below which the share `p` (0 to 1) lies, linear between neighbours: at position p (n - 1) of the sorted
/// values, counted from 0. NaN of nothing. Values that are not finite must be left out by the caller.
double percentile(std::vector<double> values, double p);

/// The middle value, or the mean of the two in the middle; NaN of nothing.
double median(std::vector<double> values);

}  // namespace multicard
