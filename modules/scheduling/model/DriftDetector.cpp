#include "scheduling/model/DriftDetector.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/Quantiles.hpp"

namespace multicard {
namespace {

constexpr double kLeastDeviation = 0.005;  // clocks and schedulers are not quieter, even where few steps look so
constexpr double kMostDeviations = 3;
constexpr double kDeviationOfMedian = 1.4826;  // standard deviation / median distance from the median

}  // namespace

Drift DriftDetector::add(double observed_s, double predicted_s) {
  if (!(observed_s > 0) || !(predicted_s > 0) || found_ != Drift::none) return found_;
  // The logarithm, so that steps of twice and of half the predicted time are equally far from it.
  const double ratio = std::log(observed_s / predicted_s);
  ++num_steps_;
  if (window_.size() < options_.window) {
    window_.push_back(ratio);
  } else {
    // Only steps that left the window without an alarm count as the usual state: not those of a beginning change.
    if (num_steps_ > options_.learning + options_.window) learn(window_[next_]);
    window_[next_] = ratio;
    next_ = (next_ + 1) % options_.window;
  }
  if (num_steps_ == options_.learning) begin();
  if (num_steps_ > options_.learning && is_sudden(ratio)) found_ = Drift::sudden;
  if (is_persistent()) found_ = Drift::persistent;
  return found_;
}

void DriftDetector::reset() {
  *this = DriftDetector(options_);
}

// The mean and the deviation are built from few steps, of which outliers must not be part: limits come from the median
// and the median distance from it, and the running sums from the ratios within these limits.
void DriftDetector::begin() {
  const double middle = median(window_);
  std::vector<double> distances;
  for (const double ratio : window_)
    distances.push_back(std::abs(ratio - middle));
  const double deviation = std::max(kDeviationOfMedian * median(distances), kLeastDeviation);
  for (const double ratio : window_)
    learn(std::clamp(ratio, middle - kMostDeviations * deviation, middle + kMostDeviations * deviation));
}

void DriftDetector::learn(double ratio) {
  if (num_steps_ > options_.learning)
    ratio = std::clamp(ratio, mean_ - kMostDeviations * deviation(), mean_ + kMostDeviations * deviation());
  learned_ += 1;
  const double before = ratio - mean_;
  mean_ += before / learned_;
  squares_ += before * (ratio - mean_);
}

double DriftDetector::deviation() const {
  // Few steps tell the deviation roughly, and one that is too small would raise false alarms.
  return (1 + 1.5 / std::sqrt(learned_)) * std::max(std::sqrt(squares_ / (learned_ - 1)), kLeastDeviation);
}

// A sum that would become negative starts again at 0: only deviations in a row add up. The limits of z keep a single
// outlier from raising an alarm by itself.
bool DriftDetector::is_sudden(double ratio) {
  const double z = std::clamp((ratio - mean_) / deviation(), -kMostDeviations, kMostDeviations);
  above_ = std::max(0.0, above_ + z - options_.slack);
  below_ = std::max(0.0, below_ - z - options_.slack);
  return std::max(above_, below_) > options_.threshold;
}

// is_sudden() learns a constant error of the model as the usual state and never reports it; this does.
bool DriftDetector::is_persistent() const {
  const double mean = std::accumulate(window_.begin(), window_.end(), 0.0) / static_cast<double>(window_.size());
  return window_.size() == options_.window && std::abs(mean) > std::log1p(options_.bias);
}

}  // namespace multicard
