#pragma once
/// \file What the trainer asks of a kind of work (image classification, language tuning).

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/RowShape.hpp"
#include "state/NamedTensor.hpp"

namespace multicard {

/// Rows of one global batch: all of them, or one rank's.
struct Batch {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t num_rows = 0;     ///< held here; may be 0
  std::int64_t global_rows = 0;  ///< over all ranks
  at::Tensor inputs;             ///< [num_rows, ...]: the network's input, or what the task makes it from on the device
  at::Tensor targets;            ///< [num_rows]; of text [num_rows, width]
  std::vector<at::Tensor> details;    ///< further tensors of num_rows rows, which the task knows
  std::int64_t global_targets = 0;    ///< text: target tokens of all ranks' rows
  std::vector<RowShape> shapes = {};  ///< text: of the num_rows rows, in host memory

  /// Rows [first, first + count), sharing memory; global_rows stays.
  Batch rows(std::int64_t first, std::int64_t count) const;
  /// All defined tensors, in a fixed order.
  std::vector<at::Tensor> tensors() const;
};

/// Tokens of text; none of anything else.
struct TokenCounts {
  std::int64_t tokens = 0;    ///< read, without padding
  std::int64_t trained = 0;   ///< of them targets
  std::int64_t computed = 0;  ///< with padding

  TokenCounts& operator+=(const TokenCounts& other);
};

/// The loss of one micro-batch on one rank.
struct Loss {
  /// Scalar with gradient: sum over its rows / global_rows, or over its targets / global_targets, so that ranks and
  /// micro-batches add up.
  at::Tensor value;
  TokenCounts counts = {};
};

/// Metrics over the whole test set, equal on all ranks.
struct Evaluation {
  double loss = 0;           ///< mean over samples, of text over target tokens
  std::int64_t samples = 0;  ///< images, or sequences
  /// Further numbers by name, recorded as eval_<name>: accuracy and top5, or perplexity.
  std::vector<std::pair<std::string, double>> values = {};
  double score = 0;  ///< what the best checkpoint has most of
};

/// How much of each global batch a rank reads.
enum class Reading {
  part,   ///< the rows it trains on
  whole,  ///< all rows, of which it keeps those it trains on
  all,    ///< all rows, to hand them out
  none,   ///< nothing: another rank hands its rows out
};

/// What a rank reads of each global batch, and which steps.
struct ReadPlan {
  int rank = 0;  ///< the part it trains on is block_of(rows, rank, num_ranks)
  int num_ranks = 1;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;  ///< one past the last
  Reading reading = Reading::part;
};

/// Of a batch as `plan` says it is read, the rows that the plan's rank trains on.
Batch own_rows(Batch batch, const ReadPlan& plan);

/// One kind of work on one device. It knows the data and the network, and nothing of how gradients meet.
class Task {
 public:
  virtual ~Task() = default;

  /// Trained parameters in a fixed order, equal on all ranks.
  virtual std::vector<NamedTensor> parameters() const = 0;
  /// State that is not trained by gradients (running statistics).
  virtual std::vector<NamedTensor> buffers() const = 0;

  virtual std::int64_t steps_per_epoch() const = 0;
  /// Rows of the global batch of `step`.
  virtual std::int64_t rows_in(std::int64_t step) const = 0;

  /// Starts reading ahead for `plan`; batches then come from next() in step order.
  virtual void start_reading(const ReadPlan& plan) = 0;
  /// Waits for the next batch in host memory, as the input pipeline gives it out.
  virtual Batch next() = 0;
  /// Moves a batch to the compute device.
  virtual Batch to_device(Batch batch) = 0;
  /// On the compute device: what the pipeline gave out -> this rank's rows as the network takes them.
  virtual Batch finish_input(Batch batch) = 0;
  /// A batch of `num_rows` rows of `step` on the compute device, uninitialised, as next() and to_device() would give
  /// it: where rows of another rank arrive.
  virtual Batch allocate(std::int64_t step, std::int64_t num_rows) = 0;

  /// Whether a rank without rows must run forward and backward all the same, because the others wait for it inside
  /// (synchronised batch norm).
  virtual bool computes_empty_batches() const = 0;
  /// Prepares what depends on the step only (dropout).
  virtual void begin_step(std::int64_t step) = 0;
  virtual Loss forward(const Batch& batch) = 0;

  /// Collective. Metrics of the test set; empty when the deck names none.
  virtual std::optional<Evaluation> evaluate() = 0;

  /// Bytes this rank has moved between host and device.
  virtual std::int64_t host_to_device_bytes() const = 0;
};

}  // namespace multicard
