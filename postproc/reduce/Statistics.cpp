#include "postproc/reduce/Statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace multicard::post {

namespace {

constexpr double kConfidence = 0.95;
/// The normal distribution's quantile at 0.975.
constexpr double kNormal = 1.959964;
/// Student's t at 0.975 for 1 to 4 degrees of freedom.
constexpr std::array<double, 4> kStudent{12.7062, 4.30265, 3.18245, 2.77645};

/// log P(Bin(n, 1/2) = i)
double log_binomial(double n, double i) {
  return std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) - n * std::log(2.0);
}

/// The largest k with 1 - 2 P(Bin(n, 1/2) <= k - 1) >= 0.95, 0 when there is none.
std::size_t interval_rank(std::size_t n) {
  double tail = 0;
  std::size_t k = 0;
  while (k < n / 2) {
    tail += std::exp(log_binomial(static_cast<double>(n), static_cast<double>(k)));
    if (1 - 2 * tail < kConfidence) break;
    ++k;
  }
  return k;
}

/// The relative distance from a to b on the logarithmic scale.
double log_distance(double a, double b) {
  return std::log(b / a);
}

/// Logarithms of ratios, cell by cell.
struct Spread {
  std::vector<double> centres;  ///< of each cell
  double squares = 0;           ///< of deviations from the cells' centres
  double shares = 0;            ///< sum over cells of 1 / repeats
  int num_values = 0;
};

std::vector<double> logarithms_of(const std::vector<double>& values) {
  std::vector<double> logarithms(values.size());
  std::transform(values.begin(), values.end(), logarithms.begin(), [](double value) { return std::log(value); });
  return logarithms;
}

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

double squares_around(double centre, const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values)
    sum += (value - centre) * (value - centre);
  return sum;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return kNone;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<Interval> median_interval(std::vector<double> values) {
  const std::size_t k = interval_rank(values.size());
  if (k == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{values[k - 1], values[values.size() - k]};
}

std::optional<Interval> student_interval(const std::vector<double>& values) {
  const std::size_t n = values.size();
  const bool all_positive = std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
  if (n < 2 || n > kStudent.size() + 1 || !all_positive) return std::nullopt;
  const std::vector<double> logarithms = logarithms_of(values);
  const double centre = mean(logarithms);
  const double deviation = std::sqrt(squares_around(centre, logarithms) / static_cast<double>(n - 1));
  const double half = kStudent[n - 2] * deviation / std::sqrt(static_cast<double>(n));
  return Interval{std::exp(centre - half), std::exp(centre + half)};
}

Estimate estimate_of_steps(const std::vector<double>& values) {
  Estimate estimate;
  estimate.value = median(values);
  estimate.interval = median_interval(values);
  estimate.basis = estimate.interval ? Basis::steps : Basis::none;
  estimate.num_values = static_cast<int>(values.size());
  return estimate;
}

Estimate estimate_of_repeats(const std::vector<Estimate>& repeats) {
  if (repeats.empty()) return {};
  if (repeats.size() == 1) return repeats[0];
  std::vector<double> values;
  values.reserve(repeats.size());
  for (const Estimate& repeat : repeats)
    values.push_back(repeat.value);
  Estimate estimate;
  estimate.value = median(values);
  estimate.interval = values.size() <= kStudent.size() + 1 ? student_interval(values) : median_interval(values);
  estimate.basis = Basis::repeats;
  estimate.num_values = static_cast<int>(values.size());
  return estimate;
}

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
  const double down = std::hypot(log_distance(above.low, numerator.value), log_distance(denominator.value, below.high));
  const double up = std::hypot(log_distance(numerator.value, above.high), log_distance(below.low, denominator.value));
  result.interval = Interval{result.value * std::exp(-down), result.value * std::exp(up)};
  const bool repeated = numerator.basis == Basis::repeats && denominator.basis == Basis::repeats;
  result.basis = repeated ? Basis::repeats : Basis::steps;
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

double student_quantile(int freedom) {
  if (freedom <= static_cast<int>(kStudent.size())) return kStudent.at(static_cast<std::size_t>(freedom - 1));
  // Cornish and Fisher's expansion around the normal quantile; from 5 degrees of freedom on its error is below 0.001.
  constexpr double z = kNormal;
  constexpr double z2 = z * z;
  const double n = freedom;
  return z * (1 + (z2 + 1) / (4 * n) + ((5 * z2 + 16) * z2 + 3) / (96 * n * n) +
              (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * n * n * n) +
              ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / (92160 * n * n * n * n));
}

Estimate estimate_of_ratios(const std::vector<std::vector<double>>& ratios) {
  const Spread spread = spread_of(ratios);
  Estimate estimate;
  if (spread.centres.empty()) return estimate;
  const double centre = mean(spread.centres);
  const auto num_cells = static_cast<double>(spread.centres.size());
  estimate.value = std::exp(centre);
  estimate.num_values = spread.num_values;
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
  constexpr double z2 = kNormal * kNormal;
  const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kNormal * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {share, Interval{std::max(0.0, middle - half), std::min(1.0, middle + half)}, Basis::none,
          static_cast<int>(num_counted)};
}

bool significantly_different(const Estimate& a, const Estimate& b) {
  if (!a.interval || !b.interval) return false;
  return a.interval->low > b.interval->high || b.interval->low > a.interval->high;
}

}  // namespace multicard::post
