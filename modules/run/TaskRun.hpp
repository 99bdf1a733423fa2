#pragma once
/// \file One training run, on the ranks of one communicator, that its owner drives.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "comm/StopMonitor.hpp"
#include "generation/PromptAnswers.hpp"
#include "memory/MemoryEstimate.hpp"
#include "results/Divergence.hpp"
#include "run/EarlyStopping.hpp"
#include "run/EvaluationPlan.hpp"
#include "run/MeasuredExchange.hpp"
#include "run/RunProfile.hpp"
#include "run/RunRecorder.hpp"
#include "run/RunReporter.hpp"
#include "run/ShardChoice.hpp"
#include "tasks/setup/TrainingSetup.hpp"
#include "train/CheckpointWriter.hpp"
#include "train/Trainer.hpp"
#include "train/TrainingState.hpp"

namespace multicard {

/// The result of a run. With `failure` the record holds the steps up to it.
struct RunResult {
  RunSummary summary;
  RankRecord record;  ///< of this rank, since it began here
  RankRows rows;      ///< the whole run's rows that this rank holds, from its first step on
  WorkUnit unit{};
  std::optional<Error> failure;  ///< an error that all ranks found together
};

/// Options of a run that are not in its deck.
struct TaskRunOptions {
  Verbosity verbosity = Verbosity::normal;               ///< of the lines while it trains
  std::optional<std::string> checkpoint = std::nullopt;  ///< the folder to resume from
  bool checkpoint_on_stop = true;  ///< also when the deck keeps none: a stopped run can be resumed
  MemoryGaps memory_gaps = MemoryGaps::warn;
  RunLabel label = {};  ///< of one run of many
  ChangesRanks changes_ranks = ChangesRanks::no;
  /// Who writes what others watch (docs/watching.md, "The status file"): asked on the root when the run begins there.
  /// Empty, or null what it returns: the run writes no status.
  std::function<std::shared_ptr<StatusWriter>()> status = {};
};

/// A training run that can be advanced, queried, checkpointed, moved to other ranks and finished. Construction builds
/// everything and checks that it fits; nothing is trained before advance(). All calls are collective over the
/// communicator unless they say otherwise; the communicator's root speaks for it. Errors that all ranks find while
/// training end up in the result; errors of one rank alone are thrown on that rank.
///
///     TaskRun run(options, deck, communicator, {});
///     while (run.advance(100, &stop) == RunStatus::running) ...
///     const RunResult result = run.finish(&stop);
///
/// To move a run, its ranks collect() its state; destroy it, together; broadcast the state to the ranks that shall have
/// it; construct it from the state; and give it what was split over the ranks (exchange_pieces()). No file is involved.
/// MovableRun does that.
class TaskRun {
 public:
  TaskRun(const RunOptions& options, const std::string& deck, const Communicator& communicator,
          const TaskRunOptions& task_options, TrainingParts reused = {});
  /// Resumes from a state that all ranks hold. \throws as above, UsageError where the state is another run's
  TaskRun(const RunOptions& options, const std::string& deck, const Communicator& communicator,
          const TaskRunOptions& task_options, const TrainingState& state, TrainingParts reused = {});

  /// Logs the block that says what will run.
  void describe() const;
  /// Logs a table of what each rank will hold in memory. Before advance().
  void describe_memory();

  /// Trains `num_steps` more steps, or until the run is complete (all steps done, or evaluate.patience is at its end),
  /// has been stopped or has failed. What the deck wants before the first step, evaluations and checkpoints come in
  /// between where they are due. `stop` (may be null) is asked every step.
  RunStatus advance(std::int64_t num_steps, StopMonitor* stop);
  /// Ends the run, which counts as stopped where steps are left: the last checkpoint, the last answers, the record.
  RunResult finish(StopMonitor* stop);
  /// The whole run.
  RunResult run(StopMonitor* stop) {
    advance(num_steps(), stop);
    return finish(stop);
  }

  /// Saves a checkpoint after the steps that are done, unless there is one or the deck keeps none.
  void checkpoint();
  /// Everything that the run is now, on the root; elsewhere what all ranks know. What is split over the ranks each has
  /// in pieces. The run can be advanced further. Waits
  /// for the checkpoint under way. \throws std::logic_error unless the run is running; what all ranks find of the steps
  /// before, or of a checkpoint
  TrainingState collect();

  /// \name Not collective
  /// @{
  RunStatus status() const { return status_; }
  std::int64_t num_steps() const { return setup_.num_steps; }
  std::int64_t num_completed() const { return trainer_ ? trainer_->num_completed() : recorder_.first_step(); }
  /// Of the newest step here whose loss is known; NaN before the first.
  double last_loss() const;
  /// Bytes of the gradients that a step all-reduces, in their communication dtype.
  std::int64_t gradient_bytes() const;
  /// The memory of this rank for what was split in the state that the run is constructed from; to be filled before the
  /// first step, and then said to be.
  /// @{
  std::vector<TensorPiece> wanted_pieces(const TrainingState& state) const;
  void pieces_have_arrived();
  /// @}
  /// The steps done here whose times are known.
  const std::vector<StepTimes>& steps() const { return recorder_.steps().steps(); }
  const Task& task() const { return *setup_.task; }
  bool is_root() const { return setup_.communicator.is_root(); }
  /// What may be used again after this run is gone (MovableRun): null where the model is split over its ranks.
  std::shared_ptr<Model> model() const { return setup_.gathers_weights() ? nullptr : setup_.task->model(); }
  TaskScan scan() const { return setup_.task->scan(); }
  std::shared_ptr<TensorCollectives> collectives() const { return setup_.collectives; }
  /// @}

 private:
  /// Builds the run, which does not work yet. \param before what it had chosen to split \param building lines come from
  /// the root while it exists
  TaskRun(const RunOptions& options, const std::string& deck, const Communicator& communicator,
          const TaskRunOptions& task_options, TrainingParts reused, const std::optional<ShardChoice>& before,
          const LogRank& building);
  /// While one exists, this rank works for the run: lines come from its root, the process computes as its deck says.
  struct Working {
    explicit Working(const TrainingSetup& setup) : log_rank(setup.communicator.rank()), current(setup.context) {}
    LogRank log_rank;
    RunContext::Current current;
  };

  /// Chooses the micro-batch before, where the deck says auto.
  void estimate_memory(MemoryGaps gaps);
  /// Of a state that the setup has been given.
  void resume(const TrainingState& state);
  /// Runs `body`; an error of all ranks fails the run.
  void guarded(const std::function<void()>& body);
  void begin();
  void begin_status();
  void evaluate_if_deferred();
  void train_step(StopMonitor* stop);
  /// Warns of a diverged training once, or fails the run where the deck says so.
  void note_divergence(const StepResult& last);
  /// Whether what was trained may be about to diverge, so that it must not take the place of a good checkpoint.
  bool may_be_spoilt() const;
  /// What the newest step whose loss is known asks for, once.
  Requests take_requests();
  void conclude(StopMonitor* stop);
  void evaluate();
  void evaluate_generation(GenerationPhase phase);
  std::vector<at::Tensor> changing_before_update() const;
  void save_checkpoint();
  void finish_checkpoints();
  void note_checkpoints();
  /// For collect(): all losses are read, requests handled, the checkpoint under way written.
  void settle_steps();
  History whole_history();
  RunSummary summary() const;
  TrainerState trainer_state() const;
  std::int64_t epoch() const { return epoch_of_last(num_completed(), setup_.steps_per_epoch()); }

  ShardChoice shard_;
  TrainingSetup setup_;
  std::unique_ptr<StepObserver> phase_ranges_;  ///< null on CPUs
  StepClock clock_;
  RunRecorder recorder_;
  RunProfile profile_;
  RunReporter reporter_;
  CheckpointWriter checkpoints_;
  EvaluationPlan plan_;
  EarlyStopping early_stopping_;
  DivergenceWatch divergence_;
  PromptAnswers answers_;
  MeasuredExchange exchange_;
  std::unique_ptr<Trainer> trainer_;  ///< from begin() on
  MemoryEstimate memory_estimate_;
  std::string micro_batch_choice_;  ///< in words; empty where the deck says it
  std::function<std::shared_ptr<StatusWriter>()> status_writer_;
  RunStatus status_ = RunStatus::running;
  std::optional<Error> failure_;
  bool checkpoint_on_stop_;
  bool has_begun_ = false;       ///< what comes before the first step is done, maybe on other ranks
  bool stop_requested_ = false;  ///< before the run came here
  std::int64_t last_evaluated_ = -1, last_saved_ = -1;
  std::int64_t last_handled_ = -1;      ///< the step whose requests have been taken
  std::optional<BestCheckpoint> best_;  ///< found here, whether or not it is saved
};

}  // namespace multicard
