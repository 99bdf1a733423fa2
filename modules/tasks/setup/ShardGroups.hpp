#pragma once
/// \file The ranks that a run splits its weights over.

#include <map>
#include <memory>
#include <string>

#include "comm/Topology.hpp"
#include "dist/SplitParameters.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// Ranks of each node, where these are equally many and follow each other; 0 where not.
int ranks_of_each_node(const Topology& topology);

/// The collectives that weights need which are split (parallel.shard).
class ShardGroups {
 public:
  /// Collective over `communicator`. \param all of its collectives, used as long as this \throws EnvironmentError on
  /// all ranks where they cannot form groups of equal size
  ShardGroups(const RunOptions& options, const Communicator& communicator, const Topology& topology,
              TensorCollectives& all);

  /// Nothing where no weights are split.
  const ShardRanks& ranks() const { return ranks_; }
  /// What has been done so far, with what `all` has done.
  std::map<std::string, CommunicationTotals> totals() const;
  /// By ranks of `all`.
  ReceivedByRank received() const;

 private:
  TensorCollectives& all_;
  std::unique_ptr<TensorCollectives> group_, copies_;  ///< of hybrid
  ShardRanks ranks_;
};

}  // namespace multicard
