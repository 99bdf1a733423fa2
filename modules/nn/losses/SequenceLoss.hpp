#pragma once
/// \file Cross-entropy of whole sequences without ever holding all logits.

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "nn/losses/TokenLoss.hpp"

namespace multicard {

/// Which of several sequences each target belongs to.
struct SequenceTargets {
  TokenTargets targets;
  at::Tensor sequence_of;  ///< int64 [targets]
  std::int64_t num_sequences = 0;

  /// Targets of each sequence: float64 [sequences].
  at::Tensor counts() const;
};

/// Sum over the targets of each sequence of the cross-entropy of hidden [tokens, size] times weight^T, weight
/// [vocabulary, size]: float64 [sequences]; minus that is the log-probability of its targets. Matmuls are computed in
/// the type of `hidden`, softmax in float32 at least; logits exist for `chunk` targets at a time. Sequences may have
/// different gradients: while `weight` is trained, too, backward computes the logits again, as the gradient of `weight`
/// mixes them.
at::Tensor sequence_losses(const at::Tensor& hidden, const OutputWeight& weight, const SequenceTargets& sequences,
                           std::int64_t chunk);

}  // namespace multicard
