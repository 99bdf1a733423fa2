#pragma once
/// \file How long the ranks of a run take for their own part of a step, and which of them are slower than the others.

#include <array>
#include <cstddef>
#include <vector>

#include "base/Estimate.hpp"
#include "base/Measures.hpp"
#include "results/ResultsReader.hpp"

namespace multicard {

/// 5th, 25th, 50th, 75th and 95th percentile.
using Box = std::array<double, 5>;

/// A straggler's own time is larger than that of the other ranks by more than this factor.
inline constexpr double kStragglerFactor = 1.05;

/// One rank of one run; times in seconds, over the measured steps.
struct RankReport {
  Estimate own;  ///< median of the step without waiting for collectives (step - reduce_wait)
  Box own_box{};
  bool straggler = false;
  /// Median of its own time over that of the other ranks in the same step; unknown of a single rank.
  Estimate slowness;
  /// Seconds of each phase, in the step that took the median time of its slowest rank: one step, the same of all ranks.
  std::array<double, kPhaseNames.size()> median_step{};
};

/// Compares the ranks in the steps of `measured` that all of them took part in, by rank. Empty where there are none.
/// \pre the run has the column `step`
std::vector<RankReport> compare_ranks(const RunData& run, const std::vector<std::size_t>& measured);

/// Those of `steps` that all ranks took part in: only there are they compared.
std::vector<std::size_t> whole_steps(const RunData& run, std::vector<std::size_t> steps);

}  // namespace multicard
