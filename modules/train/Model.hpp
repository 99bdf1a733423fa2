#pragma once
/// \file What the trainer asks of a network with its loss.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ATen/core/Tensor.h>

#include "comm/Communicator.hpp"
#include "data/loading/DataSource.hpp"
#include "dist/SplitParameters.hpp"
#include "state/NamedTensor.hpp"

namespace multicard {

/// What becomes of a sum over the micro-batches of a rank.
enum class SumUse {
  metric,     ///< summed over the ranks, in the same small all-reduce as the loss, and recorded of every step
  rank_count  ///< a whole number that is recorded for each rank by itself; it is not communicated
};

/// A sum that the losses of a model carry.
struct SumKind {
  std::string name;
  SumUse use = SumUse::metric;
};

/// What one loss adds to a sum: a scalar on its device, or what the host knows anyway.
struct NamedSum {
  std::string name;
  std::variant<at::Tensor, double> value;
};

/// The loss of one micro-batch on one rank.
struct Loss {
  /// Scalar with gradient: sum over its rows / global_rows, or over its targets / global_targets, so that ranks and
  /// micro-batches add up.
  at::Tensor value;
  /// Of those that Model::sums() names. A mean over rows is a sum like the value: over its rows / global_rows.
  std::vector<NamedSum> sums = {};
};

/// Metrics over the whole test set, equal on all ranks.
struct Evaluation {
  double loss = 0;           ///< mean over samples, of text over target tokens
  std::int64_t samples = 0;  ///< images, or sequences
  /// Further numbers by name, recorded as eval_<name>: accuracy and top5, or perplexity.
  std::vector<std::pair<std::string, double>> values = {};
  double score = 0;  ///< what the best checkpoint has most of
};

/// A network of one replica with its loss. It knows nothing of where batches come from, of other ranks (but for
/// synchronised batch norm) and of how it is updated.
class Model {
 public:
  virtual ~Model() = default;

  /// Trained parameters in a fixed order, equal on all ranks.
  virtual std::vector<NamedTensor> parameters() const = 0;
  /// Those of them that no rank holds whole: without memory between passes. Null: there are none. Collective at
  /// first, when their gradients are allocated.
  virtual SplitParameters* split_parameters() { return nullptr; }
  /// State that is not trained by gradients (running statistics).
  virtual std::vector<NamedTensor> buffers() const = 0;

  /// Whether a rank without rows must run forward and backward all the same, because the others wait for it inside
  /// (synchronised batch norm).
  virtual bool runs_on_empty_batch() const = 0;
  /// Prepares what depends on the step and the replica (dropout).
  virtual void begin_step(std::int64_t step, int replica) = 0;
  virtual Loss forward(const Batch& batch) = 0;
  /// The sums that losses carry, the same on all ranks: also those that have no rows take part.
  virtual std::vector<SumKind> sums() const { return {}; }

  /// Collective over `communicator`. Metrics of the whole of `test_set`, with the network as it is.
  virtual Evaluation evaluate(DataSource& test_set, const Communicator& communicator) = 0;
};

}  // namespace multicard
