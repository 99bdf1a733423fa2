#pragma once
/// \file What a run splits over its ranks where its deck says parallel.shard: auto.

#include <optional>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "comm/Topology.hpp"
#include "results/Columns.hpp"
#include "state/CheckpointStore.hpp"
#include "tasks/interface/TaskScan.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// What is split, and why.
struct ShardChoice {
  Shard shard = Shard::none;
  std::string reason = {};  ///< empty: the deck says it
  int num_ranks = 1;        ///< for which it was chosen

  RunOptions applied_to(RunOptions options) const;
  /// Attribute "chosen_shard".
  void add_to(RunSummary& summary) const;
  /// What choice_in() reads.
  void add_to(TrainerState& state) const;
};

/// What the run that wrote a checkpoint had chosen; none where its deck said it.
std::optional<ShardChoice> choice_in(const TrainerState& state);

/// One way to split, and the ranks over which it does.
struct ShardCandidate {
  Shard shard = Shard::none;
  int num_ranks = 1;

  bool operator==(const ShardCandidate&) const = default;
};

/// Whether a run goes to other ranks while it trains: not all of them form the groups of `hybrid`.
enum class ChangesRanks { no, yes };

/// Those that a deck allows on `num_ranks` ranks, by what they send: `none` once a step, `optimizer` sums each
/// micro-batch; `hybrid`, on several nodes with equally many ranks, gathers weights in each as well, within nodes, and
/// `full` between them too.
std::vector<ShardCandidate> shard_candidates(const RunOptions& options, const Topology& topology, int num_ranks,
                                             ChangesRanks changes_ranks = ChangesRanks::no);

/// Collective. Of shard_candidates() the first whose predicted memory fits each rank: with the deck's micro-batch, or
/// one row where that is chosen afterwards, of the longest length in the training set; where none fits, the one that
/// takes least. A run that is resumed on as many ranks keeps its choice. \param checkpoint that the run resumes from
/// \param scan of the deck, in which what is read of the data here is kept \throws as the task of the deck and as
/// MethodMemory, on all ranks
ShardChoice choose_shard(const RunOptions& options, const Communicator& communicator,
                         const std::optional<std::string>& checkpoint, TaskScan& scan,
                         ChangesRanks changes_ranks = ChangesRanks::no);

}  // namespace multicard
