#pragma once
/// \file A run that changes its ranks while it trains.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tasks/TaskRun.hpp"

namespace multicard {

/// Seconds of one move on this rank.
struct MoveTimes {
  double collect = 0;    ///< the state to the host memory of the old root
  double broadcast = 0;  ///< to all ranks
  double build = 0;      ///< data sources, strategy and collectives of the new ranks; weights on ranks that join
};

/// A run among the ranks of `all`, every one of which has one of these, whether it runs at the moment or not. A move
/// goes through memory: the ranks that run collect the state, give up what hangs on their communicator, and the state
/// is broadcast. A rank that stays keeps its model, with the weights that are not trained; a rank that joins reads
/// them. Collectives are kept for every communicator that the run has been on.
class MovableRun {
 public:
  MovableRun(const RunOptions& options, std::string deck, const Communicator& all, const TaskRunOptions& how)
      : options_(options), deck_(std::move(deck)), all_(all), how_(how) {}

  /// Collective over all ranks. From here on the ranks with a communicator, the same group on each of them, have the
  /// run, and the others have not; the first call builds it.
  /// \throws UsageError on the ranks of `next` for a run with run.batch_per_rank, whose batch would change
  void move_to(const std::optional<Communicator>& next);

  /// Null where this rank does not run.
  TaskRun* run() { return run_.get(); }
  /// Of the last move_to().
  const MoveTimes& times() const { return times_; }

 private:
  /// Collective over all. The state on all ranks; none before the first move. The run is gone then.
  std::optional<TrainingState> take_state();

  RunOptions options_;
  std::string deck_;
  Communicator all_;
  TaskRunOptions how_;
  std::unique_ptr<TaskRun> run_;
  std::shared_ptr<Model> model_;                                           ///< of the rank, while it runs
  std::map<const void*, std::shared_ptr<TensorCollectives>> collectives_;  ///< by communicator
  std::vector<Communicator> known_;                                        ///< keeps their addresses
  MoveTimes times_;
};

}  // namespace multicard
