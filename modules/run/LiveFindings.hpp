#pragma once
/// \file Findings while a run trains.

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "results/ResultsReader.hpp"
#include "watch/WatchStatus.hpp"

namespace multicard {

/// What findings rest on, taken while the run trains and judged on the thread that writes.
struct FindingInput {
  RunData newest;
  std::vector<WatchedRank> ranks;
  std::map<std::int64_t, std::deque<double>> slowness;
  std::int64_t num_ranks = 1;
  double rows_read = kNone;
};

/// Any thread.
std::vector<WatchedFinding> findings_from(const FindingInput& evidence);

}  // namespace multicard
