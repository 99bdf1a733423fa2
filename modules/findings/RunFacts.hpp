#pragma once
/// \file What rules ask about a run: measured numbers, from a results file or from anywhere else.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/Estimate.hpp"
#include "findings/RankTimes.hpp"
#include "profile/Profile.hpp"
#include "results/ResultsReader.hpp"

namespace multicard {

/// One rank. Unknown numbers are NaN, here and below.
struct RankFacts {
  Estimate slowness;         ///< own time of a step over that of the other ranks (RankReport)
  double core_wait = kNone;  ///< share of the time in which the training thread was ready to run and had no core
  double throttled = kNone;  ///< share of the time in which power, heat or the hardware lowered the GPU's clocks
};

/// What the threads of the loaders did, over all ranks; seconds of threads, which work while training computes.
struct LoadingFacts {
  double read_s = kNone, transform_s = kNone;
  double read_bytes = kNone, read_rows = kNone;
};

/// All-reduces of one rank.
struct AllReduceFacts {
  double calls_per_step = kNone;
  double bytes_per_call = kNone;  ///< mean payload
};

/// What one rank received from one on another node.
struct LinkFacts {
  int from = 0, to = 0;
  double bytes_per_s = kNone;
};

/// One run, over its measured steps. A rule that asks for a number which is unknown says nothing.
struct RunFacts {
  std::int64_t num_steps = 0;    ///< measured
  std::vector<RankFacts> ranks;  ///< by rank; may be empty
  double data_wait = kNone;      ///< share of the step, mean over ranks
  /// Share of the step in which all ranks wait for collectives: in each step that of the rank that waits least, since
  /// the last one to come waits for the transfer alone. Unknown of one rank.
  double exposed = kNone;
  LoadingFacts loading;
  AllReduceFacts all_reduce;
  std::vector<LinkFacts> links;  ///< between nodes; empty where they are not known
  double gpu_gaps = kNone;       ///< share of the time in which GPUs had nothing to do although data were there, mean
  double device_peak_bytes = kNone, device_bytes = kNone;  ///< of tensors on the fullest GPU; what a rank's GPU has
  double rows_per_rank = kNone, rows_at_once = kNone;      ///< of a step; of a micro-batch
  std::int64_t num_updates = 0,
               num_skipped = 0;                 ///< of fp16, after the loss scale was found: tried, and of them skipped
  std::map<std::string, std::string> settings;  ///< values of the resolved deck by path: "parallel.overlap": "true"

  /// Empty where the deck does not have it.
  std::string setting(const std::string& path) const;
};

/// The facts of a run in a results file. \param measured the steps that count (measured_steps())
RunFacts facts_of(const RunData& run, const std::vector<std::size_t>& measured);
/// The same where the caller has compared the ranks, and read their profiles, for itself.
RunFacts facts_of(const RunData& run, const std::vector<std::size_t>& measured, const std::vector<RankReport>& times,
                  const std::vector<Profile>& profiles);

}  // namespace multicard
