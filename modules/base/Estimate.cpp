#include "base/Estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/Quantiles.hpp"

namespace multicard {

namespace {

constexpr double kConfidence = 0.95;
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

double student_quantile(int freedom) {
  if (freedom <= static_cast<int>(kStudent.size())) return kStudent.at(static_cast<std::size_t>(freedom - 1));
  // Cornish and Fisher's expansion around the normal quantile; from 5 degrees of freedom on its error is below 0.001.
  constexpr double z = kNormalQuantile;
  constexpr double z2 = z * z;
  const double n = freedom;
  return z * (1 + (z2 + 1) / (4 * n) + ((5 * z2 + 16) * z2 + 3) / (96 * n * n) +
              (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * n * n * n) +
              ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / (92160 * n * n * n * n));
}

}  // namespace multicard
