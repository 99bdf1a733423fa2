#pragma once
/// \file What a language model is trained to do.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/loading/Batch.hpp"
#include "nn/language/Llama.hpp"
#include "train/Model.hpp"

namespace multicard {

/// Loss over a set of sequences or of pairs, equal on all ranks.
struct TextTotals {
  double loss = 0;           ///< mean over target tokens, or over pairs
  std::int64_t samples = 0;  ///< sequences or pairs
  std::int64_t tokens = 0, targets = 0;
  /// Further numbers by name: perplexity, or what is known of the rewards.
  std::vector<std::pair<std::string, double>> values = {};

  Evaluation evaluation() const { return {loss, samples, values, -loss}; }
};

/// What the rows of batches hold.
struct RowCounts {
  std::int64_t rows = 0, sequences = 0, tokens = 0, targets = 0;

  /// Adds those of a batch.
  void add(const std::vector<RowShape>& shapes);
};

/// Gives forward and evaluation of a network. What a linear layer multiplies with and what is trained is not its
/// business.
class LanguageObjective {
 public:
  virtual ~LanguageObjective() = default;

  /// The loss of a micro-batch with gradients, and the sums that metrics() names.
  virtual Loss forward(const Batch& batch) = 0;
  /// Collective. Of a rank without rows: zero, with the passes that forward() makes on others, for networks whose
  /// blocks are split over ranks.
  virtual at::Tensor idle_loss() = 0;
  /// Names of the sums that a loss carries, which are recorded of every step.
  virtual std::vector<std::string> metrics() const = 0;
  /// Tokens that forward computes, with padding.
  virtual std::int64_t computed_tokens(const Batch& batch) const = 0;

  /// Sums over the rows of a part of a test set: the loss, then those of metrics(). Without gradients.
  virtual at::Tensor test_sums(const Batch& part) = 0;
  /// What such sums of a whole test set say.
  virtual TextTotals totals(const std::vector<double>& sums, const RowCounts& counts) const = 0;

  /// The loss of one row of `length` tokens, all of them targets, which takes the memory of forward, with gradients.
  virtual at::Tensor trial_loss(std::int64_t length) = 0;
  /// Extra forward passes over all tokens: those without a backward pass.
  virtual int num_reference_passes() const = 0;
  /// Bytes of weights of its own.
  virtual std::int64_t frozen_bytes() const { return 0; }

 protected:
  LanguageObjective() = default;
  LanguageObjective(const LanguageObjective&) = delete;
  LanguageObjective& operator=(const LanguageObjective&) = delete;
};

}  // namespace multicard
