#pragma once
/// \file Ways to split what ranks hold.

#include <optional>
#include <vector>

#include "comm/Topology.hpp"
#include "dist/SplitParameters.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// How trained weights are gathered, and frozen ones of `full` and `hybrid`; nothing where ranks hold them whole.
std::optional<Gathered> gathered_by(const RunOptions& options, Shard shard);

/// Whether a run goes to other ranks while it trains: not all of them form the groups of `hybrid`.
enum class ChangesRanks { no, yes };

/// Numbers of ranks that something can be split over.
struct SplittingRanks {
  int all = 1;
  int of_group = 0;  ///< that hold a copy together; 0: groups are not possible
};

/// Groups are those of parallel.shard_group, by default those of each node where nodes have equally many.
SplittingRanks splitting_ranks(const RunOptions& options, const Topology& topology, int num_ranks,
                               ChangesRanks changes_ranks = ChangesRanks::no);

/// One way to split, and the ranks over which it does.
struct ShardCandidate {
  Shard shard = Shard::none;
  int num_ranks = 1;

  bool operator==(const ShardCandidate&) const = default;
};

/// Those that a deck allows, from the one that splits least to the one that splits most, which is also the order of
/// what they send where a step has many micro-batches: `none` once a step, `optimizer` sums each micro-batch; `hybrid`
/// gathers weights in each as well, within groups, and `full` between them too.
std::vector<ShardCandidate> shard_candidates(const RunOptions& options, const SplittingRanks& ranks);

}  // namespace multicard
