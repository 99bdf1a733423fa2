#pragma once
/// \file The arithmetic of the report (docs/report.md) beyond medians (base/Quantiles.hpp) and estimates
/// (base/Estimate.hpp): their ratios. Nothing here knows what a run is. Values that are not finite must be left out by
/// the caller.

#include <cstddef>
#include <vector>

#include "base/Estimate.hpp"
#include "base/Quantiles.hpp"

namespace multicard::post {

/// numerator / denominator times `factor`; the interval adds the relative half-widths of both in squares, on the
/// logarithmic scale and for each side. Without an interval on either side there is none.
Estimate ratio(const Estimate& numerator, const Estimate& denominator, double factor = 1);

/// minuend - subtrahend; the distances of both from the ends of their intervals are added in squares, for each side.
/// Without an interval on either side there is none.
Estimate difference(const Estimate& minuend, const Estimate& subtrahend);

/// The geometric mean of positive estimates that are independent of each other: the distances from the ends of their
/// intervals are added in squares, on the logarithmic scale and for each side, and divided by their number. Without an
/// interval on any of them there is none; unknown of nothing, and where one is unknown or not positive.
Estimate geometric_mean(const std::vector<Estimate>& estimates);

/// The arithmetic mean with Student's interval, from `least` values on.
Estimate estimate_of_mean(const std::vector<double>& values, Basis basis, std::size_t least);

/// factor / estimate: a time from a rate. The ends of the interval are swapped.
Estimate reciprocal(const Estimate& estimate, double factor = 1);

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

/// "no measurable difference" of two estimates that are not, "too few values to compare" where one has no interval.
const char* no_difference(const Estimate& a, const Estimate& b);

}  // namespace multicard::post
