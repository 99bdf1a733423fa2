#include "findings/RankTimes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/Measures.hpp"
#include "base/Quantiles.hpp"

namespace multicard {

namespace {

using Steps = std::vector<std::size_t>;

/// Percentiles rather than extremes: single steps may take any time.
Box box_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double p) { return sorted_percentile(values, p); };
  return {at(0.05), at(0.25), at(0.5), at(0.75), at(0.95)};
}

/// [rank][measured step] of step - reduce_wait.
std::vector<std::vector<double>> own_times(const RunData& run, const Steps& measured) {
  const RankMatrix<double>& step = run.times.at("step");
  const auto wait = run.times.find("reduce_wait");
  std::vector<std::vector<double>> own(step.ranks);
  for (std::size_t rank = 0; rank < step.ranks; ++rank)
    for (const std::size_t i : measured)
      own[rank].push_back(step.at(rank, i) - (wait == run.times.end() ? 0.0 : wait->second.at(rank, i)));
  return own;
}

/// Own time over the median of the other ranks in the same step, [rank][measured step]: a machine that slows down as a
/// whole cancels.
std::vector<std::vector<double>> slowness(const std::vector<std::vector<double>>& own) {
  std::vector<std::vector<double>> ratios(own.size());
  const std::size_t others = own.size() - 1;
  for (std::size_t i = 0; i < own[0].size(); ++i) {
    std::vector<std::pair<double, std::size_t>> sorted;
    for (std::size_t rank = 0; rank < own.size(); ++rank)
      sorted.emplace_back(own[rank][i], rank);
    std::ranges::sort(sorted);
    for (std::size_t at = 0; at < sorted.size(); ++at) {
      const auto other = [&](std::size_t k) { return sorted[k < at ? k : k + 1].first; };
      const double middle = (other((others - 1) / 2) + other(others / 2)) / 2;
      ratios[sorted[at].second].push_back(sorted[at].first / middle);
    }
  }
  return ratios;
}

/// Slower by kStragglerFactor in the median, with an interval above 1: both large enough to matter and measured.
void mark_stragglers(const std::vector<std::vector<double>>& own, std::vector<RankReport>& ranks) {
  if (own.size() < 2) return;
  const std::vector<std::vector<double>> ratios = slowness(own);
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    const Estimate estimate = estimate_of_steps(ratios[rank]);
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
  const std::vector<std::vector<double>> own = own_times(run, steps);
  if (own.empty() || steps.empty()) return {};
  const std::size_t median_step = median_step_of(run, steps);
  std::vector<RankReport> ranks;
  ranks.reserve(own.size());
  for (std::size_t rank = 0; rank < own.size(); ++rank)
    ranks.push_back({estimate_of_steps(own[rank]), box_of(own[rank]), false, {}, phases_in(run, rank, median_step)});
  mark_stragglers(own, ranks);
  return ranks;
}

}  // namespace multicard
