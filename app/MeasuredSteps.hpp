#pragma once
/// \file The steps of a run that count, for the lines that close it.

#include <array>
#include <vector>

#include "results/Columns.hpp"
#include "tasks/Session.hpp"

namespace multicard {

/// Rank 0's steps after skip_steps; all of them in a run that has no more.
struct MeasuredSteps {
  std::size_t num_skipped = 0;
  std::vector<double> seconds;                      ///< of each step
  std::vector<double> rates;                        ///< over all ranks, of each step
  std::array<double, kPhaseNames.size()> phases{};  ///< seconds, summed over the steps

  /// The part of all seconds that went into `phase`, in per cent.
  double percent(Phase phase) const;
};

MeasuredSteps measured_steps(const SessionResult& result);

}  // namespace multicard
