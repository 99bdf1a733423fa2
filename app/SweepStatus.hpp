#pragma once
/// \file A sweep as its status file has it.

#include <vector>

#include "SweepFolder.hpp"
#include "tasks/options/Variant.hpp"
#include "train/Progress.hpp"
#include "watch/WatchStatus.hpp"

namespace multicard {

/// For rank 0, which sees the folder. \param running the variant that begins, with its label; null: it has ended
WatchedSweep watched_sweep(const std::vector<Variant>& variants, const SweepFolder& folder, const SweepPace& pace,
                           const Variant* running, const RunLabel& label);

}  // namespace multicard
