#pragma once
/// \file What the trainer asks of a network with its loss.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "comm/Communicator.hpp"
#include "data/DataSource.hpp"
#include "state/NamedTensor.hpp"

namespace multicard {

/// Tokens of text; none of anything else.
struct TokenCounts {
  std::int64_t tokens = 0;    ///< read, without padding
  std::int64_t trained = 0;   ///< of them targets
  std::int64_t computed = 0;  ///< with padding

  TokenCounts& operator+=(const TokenCounts& other) {
    tokens += other.tokens;
    trained += other.trained;
    computed += other.computed;
    return *this;
  }
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

/// A network of one replica with its loss. It knows nothing of where batches come from, of other ranks (but for
/// synchronised batch norm) and of how it is updated.
class Model {
 public:
  virtual ~Model() = default;

  /// Trained parameters in a fixed order, equal on all ranks.
  virtual std::vector<NamedTensor> parameters() const = 0;
  /// State that is not trained by gradients (running statistics).
  virtual std::vector<NamedTensor> buffers() const = 0;

  /// Whether a rank without rows must run forward and backward all the same, because the others wait for it inside
  /// (synchronised batch norm).
  virtual bool runs_on_empty_batch() const = 0;
  /// Prepares what depends on the step and the replica (dropout).
  virtual void begin_step(std::int64_t step, int replica) = 0;
  virtual Loss forward(const Batch& batch) = 0;

  /// Collective over `communicator`. Metrics of the whole of `test_set`, with the network as it is.
  virtual Evaluation evaluate(DataSource& test_set, const Communicator& communicator) = 0;

  /// Bytes of the weights that are not trained.
  virtual std::int64_t frozen_bytes() const = 0;
  /// The most bytes that forward and backward over `rows` rows at a time, all of `row_size` (DataSource::largest_row),
  /// hold beyond what was there before, from measurements on the device with few and small ones. `backward` starts from
  /// a loss; what it adds to gradients is not wanted.
  virtual std::int64_t activation_bytes(std::int64_t rows, std::int64_t row_size,
                                        const std::function<void(const at::Tensor& loss)>& backward) = 0;
};

}  // namespace multicard
