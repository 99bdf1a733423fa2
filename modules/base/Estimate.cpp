#include "base/Estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/Quantiles.hpp"

namespace multicard {

namespace {

constexpr double kConfidence = 0.95;
constexpr std::size_t kMostStudent = 5;  ///< repeats: of more, the interval is that of the median

/// log P(Bin(n, 1/2) = i)
double log_binomial(double n, double i) {
  return std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) - n * std::log(2.0);
}

/// The largest k with 1 - 2 P(Bin(n, 1/2) <= k - 1) >= 0.95, 0 when there is none.
std::size_t interval_rank(std::size_t n) {
  // Thousands of ranks have as many steps each.
  thread_local std::size_t last_n = 0, last_k = 0;
  if (n == last_n) return last_k;
  double tail = 0;
  // The interval from the k-th smallest to the k-th largest misses the median when fewer than k values lie on one side
  // of it. How many do is binomial with 1/2 for any continuous distribution, so each side fails with P(Bin <= k - 1).
  std::size_t k = 0;
  while (k < n / 2) {
    tail += std::exp(log_binomial(static_cast<double>(n), static_cast<double>(k)));
    if (1 - 2 * tail < kConfidence) break;
    ++k;
  }
  last_n = n;
  last_k = k;
  return k;
}

std::optional<Interval> sorted_median_interval(const std::vector<double>& values) {
  const std::size_t k = interval_rank(values.size());
  if (k == 0) return std::nullopt;
  return Interval{values[k - 1], values[values.size() - k]};
}

/// P(|T| <= t) of Student's t with `freedom` degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4.
double student_within(double t, int freedom) {
  // With x = atan(t / sqrt(f)): for even f the sum of sin x (1 + cos^2 x / 2 + 1 * 3 / (2 * 4) cos^4 x + ...) up to
  // cos^(f - 2) x; for odd f 2 / pi (x + sin x (cos x + 2 / 3 cos^3 x + ...)). Both are finite, so this is exact.
  const double angle = std::atan(t / std::sqrt(freedom)), sine = std::sin(angle), cosine = std::cos(angle);
  const bool is_odd = freedom % 2 == 1;
  double term = is_odd ? cosine : 1, sum = freedom == 1 ? 0 : term;
  for (int i = is_odd ? 3 : 2; i < freedom; i += 2) {
    term *= cosine * cosine * (i - 1) / i;
    sum += term;
  }
  return is_odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

}  // namespace

std::vector<double> logarithms_of(const std::vector<double>& values) {
  std::vector<double> logarithms(values.size());
  std::transform(values.begin(), values.end(), logarithms.begin(), [](double value) { return std::log(value); });
  return logarithms;
}

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
  std::sort(values.begin(), values.end());
  return sorted_median_interval(values);
}

std::optional<Interval> student_interval(const std::vector<double>& values) {
  const std::size_t n = values.size();
  const bool all_positive = std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
  if (n < 2 || n > kMostStudent || !all_positive) return std::nullopt;
  // Times are skewed and positive: a t interval of the values themselves may reach below 0 with so few of them.
  const std::vector<double> logarithms = logarithms_of(values);
  const double centre = mean(logarithms);
  const double deviation = std::sqrt(squares_around(centre, logarithms) / static_cast<double>(n - 1));
  const double half = student_quantile(static_cast<int>(n - 1)) * deviation / std::sqrt(static_cast<double>(n));
  return Interval{std::exp(centre - half), std::exp(centre + half)};
}

Estimate estimate_of_steps(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return estimate_of_sorted_steps(values);
}

Estimate estimate_of_sorted_steps(const std::vector<double>& values) {
  Estimate estimate;
  if (!values.empty()) estimate.value = sorted_percentile(values, 0.5);
  estimate.interval = sorted_median_interval(values);
  estimate.basis = estimate.interval ? Basis::steps : Basis::none;
  estimate.num_values = static_cast<int>(values.size());
  return estimate;
}

Estimate estimate_of_repeats(const std::vector<Estimate>& repeats) {
  if (repeats.empty()) return {};
  if (repeats.size() == 1) return repeats[0];
  // Steps of one run vary less than runs do, so from two repeats on the intervals inside each are not used.
  std::vector<double> values;
  values.reserve(repeats.size());
  for (const Estimate& repeat : repeats)
    values.push_back(repeat.value);
  Estimate estimate;
  estimate.value = median(values);
  estimate.interval = values.size() <= kMostStudent ? student_interval(values) : median_interval(values);
  estimate.basis = Basis::repeats;
  estimate.num_values = static_cast<int>(values.size());
  return estimate;
}

double student_quantile(int freedom) {
  // Bisection until no double lies between the ends.
  double low = 0, high = 13;  // 12.7 with one degree of freedom, less with more
  for (double middle = high / 2; low < middle && middle < high; middle = (low + high) / 2)
    (student_within(middle, freedom) < kConfidence ? low : high) = middle;
  return high;
}

}  // namespace multicard
