#pragma once
/// \file The table of what fits a rank's memory, on the terminal.

#include <cstdint>
#include <optional>
#include <string>

#include "base/Error.hpp"
#include "comm/Communicator.hpp"
#include "tasks/options/RunOptions.hpp"
#include "tasks/setup/ShardCandidates.hpp"

namespace multicard {

/// Bytes of "80GB", "512 MiB" or "80e9". \throws UsageError
std::int64_t bytes_from(const std::string& text);

struct RankNumbers {
  SplittingRanks splitting;  ///< that train together
  int of_node = 1;           ///< that share its memory
};

/// Collective. `multicard run DECK --what-fits`: the table for the memory of rank 0's device, or for `memory`
/// (bytes_from(); none: the device's own).
/// Nothing is trained, and no data is read. \throws UsageError for a deck of images
void log_what_fits(const RunOptions& options, const std::optional<std::string>& memory, const Communicator& world);

/// Not collective. The same as the end of a run for which memory did not suffice: nothing for images, and a warning in
/// the place of the table where the device cannot compute it any more. The lines belong to the error that follows them,
/// and come out wherever errors do. \param scope of the error: one rank speaks for itself
void log_what_would_fit(const RunOptions& options, const RankNumbers& ranks, Scope scope);

}  // namespace multicard
