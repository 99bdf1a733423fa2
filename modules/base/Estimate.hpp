#pragma once
/// \file Numbers with 95 % intervals that assume no distribution. Values that are not finite must be left out by the
/// caller.

#include <limits>
#include <optional>
#include <vector>

namespace multicard {

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// The normal distribution's quantile at 0.975.
inline constexpr double kNormalQuantile = 1.959963984540054;

/// A two-sided 95 % interval.
struct Interval {
  double low = kNone, high = kNone;
};

/// What variation the interval of an estimate covers.
enum class Basis {
  none,     ///< no interval: too few values
  steps,    ///< the steps of one run: excludes run-to-run variation
  repeats,  ///< the runs of one configuration
  cells     ///< configurations that were run once each: variation between cells, not between runs
};

/// A number with its interval, if the data allow one.
struct Estimate {
  double value = kNone;
  std::optional<Interval> interval;
  Basis basis = Basis::none;
  int num_values = 0;  ///< steps or repeats it is made from

  bool known() const { return value == value; }
};

std::vector<double> logarithms_of(const std::vector<double>& values);

double mean(const std::vector<double>& values);

/// Sum of (value - centre)^2.
double squares_around(double centre, const std::vector<double>& values);

/// The 95 % interval of the median that assumes no distribution: from the k-th smallest to the k-th largest value, with
/// the largest k for which 1 - 2 P(Bin(n, 1/2) <= k - 1) >= 0.95. Nothing below 6 values, where even the extremes
/// cover less.
std::optional<Interval> median_interval(std::vector<double> values);

/// The 95 % interval of the geometric mean: Student's t on the logarithms, so that it stays positive. For 2 to 5
/// positive values (few repeats, where median_interval has none); nothing for others.
std::optional<Interval> student_interval(const std::vector<double>& values);

/// Median and interval of the steps of one run.
Estimate estimate_of_steps(std::vector<double> values);
/// The same of values in ascending order.
Estimate estimate_of_sorted_steps(const std::vector<double>& values);

/// One estimate from one estimate a repeat. One repeat keeps its own interval (Basis::steps). More: the median of the
/// repeats' values, with student_interval for 2 to 5 repeats and median_interval from 6.
Estimate estimate_of_repeats(const std::vector<Estimate>& repeats);

/// The 0.975 quantile of Student's t for `freedom` >= 1 degrees of freedom.
double student_quantile(int freedom);

}  // namespace multicard
