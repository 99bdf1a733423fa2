#pragma once
/// \file The training loop's verbs. The trainer is driven: its owner decides when to step and when to evaluate.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "device/Readback.hpp"
#include "device/StepClock.hpp"
#include "train/ExponentialMovingAverage.hpp"
#include "train/LossScaler.hpp"
#include "train/LossSums.hpp"
#include "train/Model.hpp"
#include "train/Recorder.hpp"
#include "train/Schedule.hpp"
#include "train/StepStatus.hpp"
#include "train/Strategy.hpp"

namespace multicard {

struct TrainerOptions {
  std::int64_t first_step = 0;
  std::int64_t num_steps = 0;               ///< of the whole run, counted from 0
  std::optional<std::int64_t> micro_batch;  ///< rows a rank computes at once; default all
  /// Steps by which reading a step's loss trails. 1 on a GPU: it has the next step in its queue while the host waits.
  std::int64_t results_lag = 0;
};

/// What a rank is asked for, and what it is doing; in a StepResult: any rank.
struct Requests {
  bool stop = false;
  bool checkpoint = false;
  bool is_writing = false;  ///< its pieces of a checkpoint
};

/// What all ranks know about a finished step.
struct StepResult {
  std::int64_t step = 0;
  double loss = 0;  ///< mean over the global batch, before the update
  double learning_rate = 0;
  double gradient_norm = 0;  ///< before clipping
  bool skipped = false;      ///< the update, because of a gradient that float16 could not hold
  Requests requests;         ///< of any rank at that step
  std::vector<std::pair<std::string, double>> sums = {};  ///< over all ranks, by name (SumUse::metric)
};

/// What a trainer works with. All must outlive it.
struct TrainerParts {
  Model& model;
  Strategy& strategy;
  const Schedule& schedule;
  StepClock& clock;
  Recorder& recorder;
  LossScaler* scaler = nullptr;                 ///< null: the loss is not scaled
  ExponentialMovingAverage* average = nullptr;  ///< null: none is kept; else it is what is evaluated
  std::function<void()> before_change = [] {};  ///< called before weights change, since copies may be under way
};

/// Runs steps of one model under one strategy. It knows neither ranks nor where batches come from. All ranks must make
/// the same calls.
class Trainer {
 public:
  /// Starts reading ahead.
  Trainer(const TrainerParts& parts, const TrainerOptions& options);

  bool finished() const { return step_ >= options_.num_steps; }
  /// Completed updates.
  std::int64_t num_completed() const { return step_; }

  /// Collective. One update: read, forward, backward, reduce, update. `mine` is summed with the loss, so that all ranks
  /// learn of a request at the same step (last_result()). Throws NumericalError on all ranks when the loss of a step is
  /// not finite, and when its gradient is not finite unless loss scaling may cure that.
  void step(const Requests& mine = {});

  /// Collective. Calls `body` (collective too) with what is evaluated in place: all losses are read, all ranks have
  /// rank 0's running statistics, and the moving average stands in for the weights where there is one. The step clock
  /// stands still meanwhile.
  void evaluate_with(const std::function<void()>& body);
  /// Collective. The same; records what `evaluate` finds as eval_* at the number of completed updates.
  Evaluation evaluate(const std::function<Evaluation()>& evaluate);

  /// Reads the losses that are still under way (see TrainerOptions::results_lag). Throws as step().
  void read_all_results() { read_results(0); }
  /// The same, and stores the remaining step times.
  void finish();

  /// The newest step whose loss has been read; empty before the first.
  const std::optional<StepResult>& last_result() const { return last_; }

 private:
  /// Gradients and this rank's part of the loss. Batches must not outlive it: their memory is then free for the upload
  /// after next as soon as the device has passed backward.
  void work_on(const Batch& batch);
  void forward_and_backward(const Batch& batch);
  /// Collective. Updates the parameters and all-reduces the status; the two overlap.
  void update_and_sum(double learning_rate);
  /// Reads the results of all but the newest `leave` steps.
  void read_results(std::int64_t leave);
  void record(const StepResult& result, double scale);

  TrainerParts parts_;
  TrainerOptions options_;
  std::int64_t step_;
  LossSums sums_;      ///< of this rank's micro-batches
  StepStatus status_;  ///< of this rank, from update_and_sum() on of all ranks
  std::unique_ptr<Readback> readback_;
  std::deque<StepResult>
      pending_;  ///< those in readback_ (status_, and the loss scale if any), as far as they are known
  std::optional<StepResult> last_;
};

}  // namespace multicard
