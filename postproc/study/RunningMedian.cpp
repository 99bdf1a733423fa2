#include "postproc/study/RunningMedian.hpp"

#include <algorithm>
#include <cmath>

#include "base/Quantiles.hpp"

namespace multicard::post {

bool has_curve(const MetricSeries& loss) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  return loss.values.size() >= kLeastLosses && loss.steps.size() >= kLeastLosses &&
         std::ranges::any_of(loss.values, is_finite);
}

std::size_t window_for(std::size_t count) {
  return std::max<std::size_t>(5, 2 * (count / 60) + 1);
}

std::vector<std::pair<double, double>> running_median(const MetricSeries& metric, std::size_t window) {
  constexpr std::size_t kMostPoints = 300;
  std::vector<std::pair<double, double>> points;
  const std::size_t count = std::min(metric.values.size(), metric.steps.size());
  const std::size_t stride = std::max<std::size_t>(1, count / kMostPoints);
  const auto add = [&](std::size_t i) {
    const std::size_t from = i >= window / 2 ? i - window / 2 : 0;
    const std::size_t to = std::min(count, i + window / 2 + 1);
    std::vector<double> values;
    for (std::size_t k = from; k < to; ++k)
      if (std::isfinite(metric.values[k])) values.push_back(metric.values[k]);
    if (!values.empty()) points.emplace_back(static_cast<double>(metric.steps[i]), median(values));
  };
  for (std::size_t i = 0; i < count; i += stride)
    add(i);
  if (count > 0 && (count - 1) % stride != 0) add(count - 1);
  return points;
}

}  // namespace multicard::post
