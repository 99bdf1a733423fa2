#pragma once
/// \file What a run splits over its ranks where its deck says parallel.shard: auto.

#include <optional>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "results/Columns.hpp"
#include "run/ShardPredictions.hpp"
#include "state/CheckpointStore.hpp"
#include "tasks/interface/TaskScan.hpp"
#include "tasks/options/RunOptions.hpp"
#include "tasks/setup/ShardCandidates.hpp"

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
/// Collective. The same of a file, where there is one and `options` leave the choice to the run. \throws DataError on
/// all ranks
std::optional<ShardChoice> choice_in(const std::optional<std::string>& checkpoint, const RunOptions& options,
                                     const Communicator& communicator);

/// Not collective. The first of the candidates whose prediction fits `available` bytes, else the one that takes least;
/// the last one where the device has too little memory to measure any. \throws as ShardPredictions
ShardChoice choose_shard(std::vector<ShardCandidate> candidates, ShardPredictions& predictions, at::Device device,
                         std::int64_t available);

/// Collective. Of shard_candidates() the first whose predicted memory fits each rank: with the deck's micro-batch, or
/// one row where that is chosen afterwards, of the longest length in the training set; where none fits, the one that
/// takes least. A run that continues on as many ranks keeps its choice. \param before what it had chosen \param scan of
/// the deck, in which what is read of the data here is kept \throws as the task of the deck and as
/// ShardPredictions::of(), on all ranks
ShardChoice choose_shard(const RunOptions& options, const Communicator& communicator,
                         const std::optional<ShardChoice>& before, TaskScan& scan,
                         ChangesRanks changes_ranks = ChangesRanks::no);

}  // namespace multicard
