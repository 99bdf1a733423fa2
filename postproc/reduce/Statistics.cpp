#include "postproc/reduce/Statistics.hpp"

#include <algorithm>
#include <cmath>

namespace multicard::post {

namespace {

/// The relative distance from a to b on the logarithmic scale.
double log_distance(double a, double b) {
  return std::log(b / a);
}

/// An interval over steps excludes variation between runs.
Basis weaker(Basis a, Basis b) {
  return a == b ? a : Basis::steps;
}

/// Logarithms of ratios, cell by cell.
struct Spread {
  std::vector<double> centres;  ///< of each cell
  double squares = 0;           ///< of deviations from the cells' centres
  double shares = 0;            ///< sum over cells of 1 / repeats
  int num_values = 0;
};

Spread spread_of(const std::vector<std::vector<double>>& ratios) {
  Spread spread;
  for (const auto& cell : ratios) {
    if (cell.empty()) continue;
    const std::vector<double> logarithms = logarithms_of(cell);
    spread.centres.push_back(mean(logarithms));
    spread.squares += squares_around(spread.centres.back(), logarithms);
    spread.shares += 1 / static_cast<double>(cell.size());
    spread.num_values += static_cast<int>(cell.size());
  }
  return spread;
}

}  // namespace

Estimate ratio(const Estimate& numerator, const Estimate& denominator, double factor) {
  Estimate result;
  if (!numerator.known() || !denominator.known() || denominator.value == 0) return result;
  result.value = factor * numerator.value / denominator.value;
  result.num_values = std::min(numerator.num_values, denominator.num_values);
  if (!numerator.interval || !denominator.interval) return result;
  const Interval& above = *numerator.interval;
  const Interval& below = *denominator.interval;
  // Zero has no logarithm, so that there is no bound.
  if (above.low <= 0 || below.low <= 0) return result;
  // Of a = x / y: ln²(a / a_low) = ln²(x / x_low) + ln²(y_high / y), and the same upwards.
  const double down = std::hypot(log_distance(above.low, numerator.value), log_distance(denominator.value, below.high));
  const double up = std::hypot(log_distance(numerator.value, above.high), log_distance(below.low, denominator.value));
  result.interval = Interval{result.value * std::exp(-down), result.value * std::exp(up)};
  result.basis = weaker(numerator.basis, denominator.basis);
  return result;
}

Estimate difference(const Estimate& minuend, const Estimate& subtrahend) {
  Estimate result;
  if (!minuend.known() || !subtrahend.known()) return result;
  result.value = minuend.value - subtrahend.value;
  result.num_values = std::min(minuend.num_values, subtrahend.num_values);
  if (!minuend.interval || !subtrahend.interval) return result;
  const Interval &of = *minuend.interval, &less = *subtrahend.interval;
  result.interval = Interval{result.value - std::hypot(minuend.value - of.low, less.high - subtrahend.value),
                             result.value + std::hypot(of.high - minuend.value, subtrahend.value - less.low)};
  result.basis = weaker(minuend.basis, subtrahend.basis);
  return result;
}

Estimate geometric_mean(const std::vector<Estimate>& estimates) {
  Estimate result;
  double sum = 0, down = 0, up = 0;
  bool has_interval = !estimates.empty();
  Basis basis = estimates.empty() ? Basis::none : estimates.front().basis;
  for (const Estimate& estimate : estimates) {
    if (!(estimate.value > 0)) return {};
    sum += std::log(estimate.value);
    result.num_values += estimate.num_values;
    has_interval = has_interval && estimate.interval && estimate.interval->low > 0;
    if (!has_interval) continue;
    down = std::hypot(down, log_distance(estimate.interval->low, estimate.value));
    up = std::hypot(up, log_distance(estimate.value, estimate.interval->high));
    basis = weaker(basis, estimate.basis);
  }
  const auto number = static_cast<double>(estimates.size());
  if (!estimates.empty()) result.value = std::exp(sum / number);
  if (!has_interval) return result;
  result.interval = Interval{result.value * std::exp(-down / number), result.value * std::exp(up / number)};
  result.basis = basis;
  return result;
}

Estimate estimate_of_mean(const std::vector<double>& values, Basis basis, std::size_t least) {
  // With more degrees of freedom Student's quantile is the normal one to four digits, and takes long to compute.
  constexpr std::size_t kMany = 10'000;
  Estimate result;
  result.value = mean(values);
  result.num_values = static_cast<int>(values.size());
  if (values.size() < std::max<std::size_t>(least, 2)) return result;
  const auto number = static_cast<double>(values.size());
  const double deviation = std::sqrt(squares_around(result.value, values) / (number - 1));
  const double quantile =
      values.size() > kMany ? kNormalQuantile : student_quantile(static_cast<int>(values.size()) - 1);
  const double half = quantile * deviation / std::sqrt(number);
  result.interval = Interval{result.value - half, result.value + half};
  result.basis = basis;
  return result;
}

Estimate reciprocal(const Estimate& estimate, double factor) {
  Estimate result = estimate;
  result.value = factor / estimate.value;
  if (estimate.interval && estimate.interval->low > 0)
    result.interval = Interval{factor / estimate.interval->high, factor / estimate.interval->low};
  else
    result.interval.reset();
  return result;
}

Estimate estimate_of_ratios(const std::vector<std::vector<double>>& ratios) {
  const Spread spread = spread_of(ratios);
  Estimate estimate;
  if (spread.centres.empty()) return estimate;
  const double centre = mean(spread.centres);
  const auto num_cells = static_cast<double>(spread.centres.size());
  estimate.value = std::exp(centre);
  estimate.num_values = spread.num_values;
  // Each cell's mean takes one degree of freedom: n values in k cells leave n - k.
  int freedom = spread.num_values - static_cast<int>(spread.centres.size());
  double variance = spread.squares / freedom * spread.shares / (num_cells * num_cells);  // of the mean over cells
  estimate.basis = Basis::repeats;
  if (freedom == 0) {
    freedom = static_cast<int>(spread.centres.size()) - 1;
    estimate.basis = freedom == 0 ? Basis::none : Basis::cells;
    if (freedom == 0) return estimate;
    variance = squares_around(centre, spread.centres) / freedom / num_cells;
  }
  const double half = student_quantile(freedom) * std::sqrt(variance);
  estimate.interval = Interval{std::exp(centre - half), std::exp(centre + half)};
  return estimate;
}

Estimate estimate_of_share(long num_hits, long num_counted) {
  if (num_counted <= 0) return {};
  const auto n = static_cast<double>(num_counted);
  const double share = static_cast<double>(num_hits) / n;
  constexpr double z2 = kNormalQuantile * kNormalQuantile;
  // Wilson's score interval: centre (p + z²/2n) / (1 + z²/n), half-width z √(p(1 - p)/n + z²/4n²) / (1 + z²/n). Unlike
  // the normal approximation it holds for shares near 0 and 1 and for few samples.
  const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kNormalQuantile * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {share, Interval{std::max(0.0, middle - half), std::min(1.0, middle + half)}, Basis::none,
          static_cast<int>(num_counted)};
}

const char* no_difference(const Estimate& a, const Estimate& b) {
  return a.interval && b.interval ? "no measurable difference" : "too few values to compare";
}

bool significantly_different(const Estimate& a, const Estimate& b) {
  if (!a.interval || !b.interval) return false;
  return a.interval->low > b.interval->high || b.interval->low > a.interval->high;
}

}  // namespace multicard::post
