#pragma once
/// \file A noisy curve, smoothed so that it can be read.

#include <cstddef>
#include <utility>
#include <vector>

#include "results/Columns.hpp"

namespace multicard::post {

/// Fewest steps of a training loss that is drawn or quoted: shorter ones are noise.
inline constexpr std::size_t kLeastLosses = 20;

/// Whether there is enough of a training loss to draw or quote: kLeastLosses values, and a finite one among them.
bool has_curve(const MetricSeries& loss);

/// The width of the window for a curve of `count` values: odd, 5 or about a thirtieth of them.
std::size_t window_for(std::size_t count);

/// Medians of `window` values around at most some 300 evenly spaced steps, the first and the last among them, as pairs
/// of step and median; at the ends of the curve the window is cut. Values that are not finite are left out.
std::vector<std::pair<double, double>> running_median(const MetricSeries& metric, std::size_t window);

}  // namespace multicard::post
