#include "postproc/draw/AxisRange.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace multicard::post {

namespace {

/// The fewest kinds of numbers that make three ticks.
std::vector<double> log_ticks(const AxisRange& y) {
  std::vector<double> ticks;
  for (const std::vector<double>& digits : {std::vector<double>{1}, {1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 7}}) {
    ticks.clear();
    for (double decade = std::pow(10, std::floor(std::log10(y.low))); decade <= y.high; decade *= 10)
      for (const double digit : digits)
        if (digit * decade >= y.low && digit * decade <= y.high) ticks.push_back(digit * decade);
    if (ticks.size() >= 3) break;
  }
  return ticks;
}

}  // namespace

double AxisRange::share(double value) const {
  const double inside = std::clamp(value, low, high);
  return is_logarithmic ? std::log(inside / low) / std::log(high / low) : (inside - low) / (high - low);
}

double AxisRange::at(double share) const {
  return is_logarithmic ? low * std::pow(high / low, share) : low + share * (high - low);
}

std::vector<double> AxisRange::ticks() const {
  if (is_logarithmic) return log_ticks(*this);
  // The tolerance keeps the ends, which are multiples but for rounding.
  std::vector<double> ticks;
  const auto first = static_cast<std::int64_t>(std::ceil(low / step - 1e-9));
  const auto last = static_cast<std::int64_t>(std::floor(high / step + 1e-9));
  for (std::int64_t i = first; i <= last; ++i)
    ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

}  // namespace multicard::post
