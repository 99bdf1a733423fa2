#pragma once
/// \file A run that changes its ranks while it trains.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/TaskRun.hpp"

namespace multicard {

/// Seconds of one move on this rank.
struct MoveTimes {
  double collect = 0;    ///< the state to the host memory of the old root, or of all old ranks
  double broadcast = 0;  ///< to all ranks; the first time with what opening the data has found
  double build = 0;      ///< data sources, strategy and collectives of the new ranks; weights on ranks that join; what
                         ///< is split
};

/// A run among the ranks of `all`, every one of which has one of these, whether it runs at the moment or not. A move
/// goes through memory: the ranks that run collect the state, release everything tied to their communicator, and the
/// state is broadcast. What is split over them each rank keeps in host memory, until the new ranks are there and get
/// what each needs of it from the others; it is whole on no rank, if it can be written in pieces. A rank that stays on
/// its device keeps its model, with the weights that are not trained, unless they are split; a rank that joins reads
/// them. Data is scanned once: every rank keeps what opening it has found. Collectives of the communicator before the
/// present one are kept, because a run often goes back; older ones are released at the end of a move (those of NCCL
/// hold device memory). They are destroyed in the order in which they were made, which is the same on all of their
/// ranks (NCCL wants that).
class MovableRun {
 public:
  /// Builds nothing yet. `deck` is the resolved YAML.
  MovableRun(const RunOptions& options, std::string deck, const Communicator& all, const TaskRunOptions& task_options)
      : options_(options), deck_(std::move(deck)), all_(all), task_options_(task_options) {
    task_options_.changes_ranks = ChangesRanks::yes;
  }

  /// Collective over all ranks; those that do not run may wait in it for as long as the others train. From here on the
  /// ranks with a communicator, the same group on each of them, have the run, and the others have not; the first call
  /// builds it. Where no rank has one, the state waits in memory for the next move.
  /// \throws on all ranks what the ranks of the run, or of `next`, find together (a loss that is not finite, a
  /// checkpoint that holds such values, too little memory, run.batch_per_rank, whose batch would change);
  /// std::logic_error for a run that has ended. A run that cannot leave its ranks stays there; the state of one that
  /// has left and cannot be built stays for the next move (has_state()).
  void move_to(const std::optional<Communicator>& next);

  /// Collective over the ranks that have the run, which is gone then: TaskRun::finish(). abandon() releases what is
  /// kept for a move.
  RunResult finish(StopMonitor* stop);
  /// Collective over the ranks that have the run, if any: it is gone, with its state, and the memory of this rank is
  /// free.
  void abandon();

  /// Null where this rank does not run.
  TaskRun* run() { return run_.get(); }
  const TaskRun* run() const { return run_.get(); }
  /// The same on all ranks: whether the state waits in memory, because no rank has the run.
  bool has_state() const { return state_.has_value(); }
  /// Of the last move_to().
  const MoveTimes& times() const { return times_; }

 private:
  /// Collective over all. Ends the run, if there is one, and leaves its state in state_ of all ranks.
  void take_state();
  void build(const Communicator& next);
  /// Collective over all. Gives the run that was built what was split over the ranks before it.
  void exchange_pieces();
  /// Tensor collectives of a communicator that the run has been on.
  struct KeptCollectives {
    Communicator communicator;
    std::shared_ptr<TensorCollectives> collectives;
    int last_move = 0;  ///< number of the move that last used it; the same on all ranks
  };
  KeptCollectives* known_collectives(const Communicator& communicator);
  void release_old_collectives();
  void release_model();

  RunOptions options_;
  std::string deck_;
  Communicator all_;
  TaskRunOptions task_options_;
  std::unique_ptr<TaskRun> run_;
  std::optional<Communicator> group_;         ///< of the run here
  std::optional<TrainingState> state_;        ///< while no rank has the run
  TaskScan scan_;                             ///< empty before the first move
  std::shared_ptr<Model> model_;              ///< of the rank, while it runs
  std::optional<at::Device> device_;          ///< of the run that was here, until its memory has been given back
  std::vector<KeptCollectives> collectives_;  ///< as they were made
  int num_moves_ = 0;
  MoveTimes times_;
};

}  // namespace multicard
