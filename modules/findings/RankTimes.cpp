#include "findings/RankTimes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/Measures.hpp"
#include "base/Quantiles.hpp"

namespace multicard {

namespace {

using Steps = std::vector<std::size_t>;

/// Percentiles rather than extremes: single steps may take any time.
Box box_of(const std::vector<double>& sorted) {
  const auto at = [&](double p) { return sorted_percentile(sorted, p); };
  return {at(0.05), at(0.25), at(0.5), at(0.75), at(0.95)};
}

/// [rank][measured step] of step - reduce_wait.
std::vector<std::vector<double>> own_times(const RunData& run, const Steps& measured) {
  const RankMatrix<double>& step = run.times.at("step");
  const auto wait = run.times.find("reduce_wait");
  std::vector<std::vector<double>> own(step.ranks);
  for (std::size_t rank = 0; rank < step.ranks; ++rank) {
    own[rank].reserve(measured.size());
    for (const std::size_t i : measured)
      own[rank].push_back(step.at(rank, i) - (wait == run.times.end() ? 0.0 : wait->second.at(rank, i)));
  }
  return own;
}

/// The median of some values without one of them, for each of them in turn.
class MedianOfOthers {
 public:
  /// \pre at least two values
  explicit MedianOfOthers(std::vector<double> values) : low_((values.size() - 2) / 2), high_((values.size() - 1) / 2) {
    // Of the values in order the middle ones alone matter, up to three.
    for (std::size_t place = low_; place <= high_ + 1; ++place) {
      const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
      std::nth_element(at - static_cast<std::ptrdiff_t>(place == low_ ? place : 0), at, values.end());
      middle_[place - low_] = *at;
    }
  }

  double without(double value) const { return (other(low_, value) + other(high_, value)) / 2; }

 private:
  /// Without `value`, those above it move down by one place; of equal ones it does not matter which is left out.
  double other(std::size_t place, double value) const {
    return value > middle_[place - low_] ? middle_[place - low_] : middle_[place - low_ + 1];
  }

  std::size_t low_, high_;  ///< the two middle places of the others; one, if their number is odd
  std::array<double, 3> middle_{};
};

/// Own time over the median of the other ranks in the same step, [rank][measured step]: a machine that slows down as a
/// whole cancels.
std::vector<std::vector<double>> slowness(const std::vector<std::vector<double>>& own) {
  std::vector<std::vector<double>> ratios(own.size(), std::vector<double>(own[0].size()));
  std::vector<double> of_step(own.size());
  for (std::size_t i = 0; i < own[0].size(); ++i) {
    for (std::size_t rank = 0; rank < own.size(); ++rank)
      of_step[rank] = own[rank][i];
    const MedianOfOthers median(of_step);
    for (std::size_t rank = 0; rank < own.size(); ++rank)
      ratios[rank][i] = of_step[rank] / median.without(of_step[rank]);
  }
  return ratios;
}

/// Slower by kStragglerFactor in the median, with an interval above 1: both large enough to matter and measured.
void mark_stragglers(const std::vector<std::vector<double>>& own, std::vector<RankReport>& ranks) {
  if (own.size() < 2) return;
  std::vector<std::vector<double>> ratios = slowness(own);
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    const Estimate estimate = estimate_of_steps(std::move(ratios[rank]));
    ranks[rank].slowness = estimate;
    ranks[rank].straggler = estimate.value > kStragglerFactor && estimate.interval && estimate.interval->low > 1;
  }
}

/// The one of `steps` that took the median time of its slowest rank; of an even number the shorter one in the middle.
std::size_t median_step_of(const RunData& run, Steps steps) {
  const RankMatrix<double>& step = run.times.at("step");
  const auto slowest = [&](std::size_t i) {
    double most = 0;
    for (std::size_t rank = 0; rank < step.ranks; ++rank)
      most = std::fmax(most, step.at(rank, i));
    return most;
  };
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::ranges::nth_element(steps, middle, {}, slowest);
  return *middle;
}

std::array<double, kPhaseNames.size()> phases_in(const RunData& run, std::size_t rank, std::size_t step) {
  std::array<double, kPhaseNames.size()> phases{};
  for (std::size_t p = 0; p < kPhaseNames.size(); ++p)
    if (const auto column = run.times.find(kPhaseNames[p]); column != run.times.end())
      phases[p] = column->second.at(rank, step);
  return phases;
}

}  // namespace

std::vector<std::size_t> whole_steps(const RunData& run, std::vector<std::size_t> steps) {
  const RankMatrix<double>& step = run.times.at("step");
  std::erase_if(steps, [&](std::size_t i) {
    for (std::size_t rank = 0; rank < step.ranks; ++rank)
      if (!std::isfinite(step.at(rank, i))) return true;
    return false;
  });
  return steps;
}

std::vector<RankReport> compare_ranks(const RunData& run, const std::vector<std::size_t>& measured) {
  const Steps steps = whole_steps(run, measured);
  std::vector<std::vector<double>> own = own_times(run, steps);
  if (own.empty() || steps.empty()) return {};
  const std::size_t median_step = median_step_of(run, steps);
  std::vector<RankReport> ranks(own.size());
  mark_stragglers(own, ranks);
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    std::ranges::sort(own[rank]);
    ranks[rank].own = estimate_of_sorted_steps(own[rank]);
    ranks[rank].own_box = box_of(own[rank]);
    ranks[rank].median_step = phases_in(run, rank, median_step);
  }
  return ranks;
}

}  // namespace multicard
