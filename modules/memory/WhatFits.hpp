#pragma once
/// \file What tuning fits a device, known before anything is built for it.

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "tasks/options/RunOptions.hpp"
#include "tasks/setup/ShardCandidates.hpp"

namespace multicard {

/// Bytes that a rank which holds nothing yet can use of a device. \param num_sharing ranks that use the same memory,
/// this one among them
std::int64_t bytes_for_rank(at::Device device, int num_sharing);

/// What a table of fitting micro-batches is about.
struct FitQuestion {
  RunOptions options;          ///< of a language deck
  at::Device device;           ///< where passes are measured
  std::int64_t available = 0;  ///< bytes
  SplittingRanks ranks = {};   ///< that train together
};

/// Not collective. Lines of a table: by tuning method, with and without activation checkpointing, and by length of rows
/// the largest run.micro_batch that fits; and what to change where the deck's own choice does not fit. Room for gaps
/// between a GPU's blocks is left. \throws as MethodMemory of a device that fails
std::vector<std::string> what_fits(const FitQuestion& question);

}  // namespace multicard
