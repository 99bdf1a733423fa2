#pragma once
/// \file The arithmetic of the report (docs/report.md) beyond medians (base/Quantiles.hpp): intervals that assume no
/// distribution, ratios of estimates. Nothing here knows what a run is. Values that are not finite must be left out by
/// the caller.

#include <limits>
#include <optional>
#include <vector>

#include "base/Quantiles.hpp"

namespace multicard::post {

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

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
  int num_values = 0;  ///< steps or repeats behind it

  bool known() const { return value == value; }
};

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
Estimate estimate_of_steps(const std::vector<double>& values);

/// One estimate from one estimate a repeat. One repeat keeps its own interval (Basis::steps). More: the median of the
/// repeats' values, with student_interval for 2 to 5 repeats and median_interval from 6.
Estimate estimate_of_repeats(const std::vector<Estimate>& repeats);

/// numerator / denominator times `factor`; the interval adds the relative half-widths of both in squares, on the
/// logarithmic scale and for each side. Without an interval on either side there is none.
Estimate ratio(const Estimate& numerator, const Estimate& denominator, double factor = 1);

/// factor / estimate: a time from a rate. The ends of the interval are swapped.
Estimate reciprocal(const Estimate& estimate, double factor = 1);

/// The 0.975 quantile of Student's t for `freedom` >= 1 degrees of freedom, to 0.001.
double student_quantile(int freedom);

/// The effect of an option over several cells: [cell][repeat] positive ratios, each of two runs that differ in that
/// option alone. The value is the geometric mean over cells of the geometric means over their repeats. The interval is
/// Student's t on the logarithms, with the spread of repeats around the mean of their cell, pooled over cells: it
/// covers these cells only, whose differences from each other are not noise. Where no cell was repeated it is
/// Student's t over the cells (Basis::cells), and with a single ratio there is none.
Estimate estimate_of_ratios(const std::vector<std::vector<double>>& ratios);

/// A share of `num_counted` that `num_hits` of them make, with Wilson's score interval (Basis::none: neither steps nor
/// repeats). Unknown for num_counted 0.
Estimate estimate_of_share(long num_hits, long num_counted);

/// Whether two estimates differ by more than their intervals: both are known and the intervals do not overlap.
bool significantly_different(const Estimate& a, const Estimate& b);

}  // namespace multicard::post
