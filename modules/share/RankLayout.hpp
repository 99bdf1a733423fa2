#pragma once
/// \file Which ranks a task has.

#include <vector>

namespace multicard {

/// Consecutive ranks of the job; count 0: none.
struct RankRange {
  int first = 0;
  int count = 0;

  bool contains(int rank) const { return rank >= first && rank < first + count; }
  bool operator==(const RankRange&) const = default;
};

/// Consecutive ranks for each task, as many as `counts` says, of `num_ranks` in all. Tasks whose count stays keep their
/// ranks, the others are put into the gaps, where they were if possible; only where the gaps are too small for that do
/// all tasks move together. \throws std::logic_error when the counts do not fit
std::vector<RankRange> lay_out(const std::vector<int>& counts, const std::vector<RankRange>& before, int num_ranks);

}  // namespace multicard
