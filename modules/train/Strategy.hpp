#pragma once
/// \file Who reads, how gradients meet, who updates and how parameters return (docs/decks.md, Strategies).

#include <memory>
#include <vector>

#include "config/RunOptions.hpp"
#include "device/StepClock.hpp"
#include "dist/TensorCollectives.hpp"
#include "train/Task.hpp"

namespace multicard {

/// Data parallelism over the ranks of one set of collectives. One step:
///
///     Batch batch = strategy.next(clock);
///     strategy.begin_step();
///     strategy.backward(loss, is_last);      // each micro-batch
///     strategy.finish_gradients();           // where updates(): gradients() are the sums over all ranks
///     if (strategy.updates()) ...            // change the parameters
///     strategy.share_parameters();
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// What this rank reads of each global batch.
  virtual Reading reading() const = 0;
  /// Starts reading ahead for the steps [first_step, last_step).
  virtual void start_reading(std::int64_t first_step, std::int64_t last_step) = 0;
  /// Collective. This rank's rows of the next batch on the compute device, ready for the network. Enters the phases
  /// data_wait and transfer.
  virtual Batch next(StepClock& clock) = 0;

  /// Clears the gradients before the first micro-batch of a step.
  virtual void begin_step() = 0;
  /// Backward of one micro-batch from its (scaled) loss.
  virtual void backward(const at::Tensor& loss, bool is_last) = 0;
  /// Collective. Waits until the gradients are the sums over all ranks, on the ranks that update.
  virtual void finish_gradients() = 0;
  /// Whether this rank changes the parameters, and so needs an optimizer.
  virtual bool updates() const = 0;
  /// Collective. After an update: all ranks have the same parameters.
  virtual void share_parameters() = 0;
  /// Collective. Rank 0's running statistics are the model's: gives them to all ranks.
  virtual void share_buffers() = 0;

  /// The gradients, in the order of the task's parameters.
  virtual const std::vector<at::Tensor>& gradients() const = 0;
  virtual std::size_t num_buckets() const = 0;
  virtual TensorCollectives& collectives() = 0;
};

/// Collective: all ranks start with rank 0's parameters and buffers. `task` and `collectives` must outlive the
/// strategy.
std::unique_ptr<Strategy> make_strategy(const ParallelOptions& options, Task& task, TensorCollectives& collectives);

}  // namespace multicard
