#pragma once
/// \file The record of a run's earlier part, so that a resumed run's file holds it from its first step.

#include <vector>

#include "results/ResultsReader.hpp"
#include "results/ResultsWriter.hpp"

namespace multicard {

/// What is known of an earlier part of the run: all of it, or what one rank carries on.
struct History {
  RankRows rows;  ///< all; of one rank its own, and on the last rank those of ranks that no longer exist
  std::map<std::string, MetricSeries> metrics;
  std::vector<Segment> segments;
  std::int64_t first_step = 0;  ///< of the whole run
  std::int64_t num_steps = 0;   ///< recorded so far
  int num_ranks = 0;            ///< the largest so far
};

/// All that `run` holds.
History history_of(const RunData& run);
/// The part of `whole` that rank `rank` of `num_ranks` carries on.
History part_of(const History& whole, int rank, int num_ranks);

/// Appends what this rank has recorded since, and fills the steps in which a row's rank was absent.
/// \param since record of this rank's steps after the history; all ranks recorded equally many.
RankRows continue_rows(const History& history, const RankRecord& since, int rank);

}  // namespace multicard
