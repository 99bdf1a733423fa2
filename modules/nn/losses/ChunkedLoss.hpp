#pragma once
/// \file The cross-entropy of targets whose logits exist for a few at a time. Private to the losses of tokens.

#include <algorithm>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "device/AllocationRecorder.hpp"
#include "kernels/TokenPath.hpp"
#include "nn/losses/TokenLoss.hpp"

namespace multicard {

/// Of the targets whose logits are held.
struct ChunkLoss {
  at::Tensor losses;    ///< [targets], of wide type
  at::Tensor gradient;  ///< of the sum of losses by the logits, in their type; with LogitGradient::none undefined
};

/// Zeros in `wide` for the gradient of an output layer: OutputWeight::gradient where that has the type.
at::Tensor wide_gradient(const OutputWeight& weight, at::ScalarType wide);
/// What autograd is to have of the gradient that backward has computed, of the type of the weight: all of it, or
/// nothing once it has been added to `gradient`, OutputWeight::gradient, which may be the same tensor.
at::Tensor left_to_autograd(const at::Tensor& computed, const at::Tensor& gradient);

/// Goes over the targets in chunks. While one exists, what is allocated counts as WorkStage::logits.
class ChunkedLoss {
 public:
  ChunkedLoss(const at::Tensor& hidden, const at::Tensor& weight, const TokenTargets& targets, std::int64_t chunk);

  /// Calls body(first, count, losses and gradient).
  template <typename Body>
  void for_each(LogitGradient gradient, const Body& body) const {
    const std::int64_t total = rows_.size(0);
    for (std::int64_t first = 0; first < total; first += chunk_) {
      const std::int64_t count = std::min(chunk_, total - first);
      body(first, count, loss_of(first, count, gradient));
    }
  }
  at::Tensor rows(std::int64_t first, std::int64_t count) const { return rows_.narrow(0, first, count); }
  const at::Tensor& all_rows() const { return rows_; }
  const at::Tensor& weight() const { return weight_; }
  at::ScalarType wide() const { return wide_; }

 private:
  ChunkLoss loss_of(std::int64_t first, std::int64_t count, LogitGradient gradient) const;

  StageOfWork stage_{WorkStage::logits};
  const TokenTargets& targets_;
  std::int64_t chunk_;
  at::Tensor rows_, weight_;
  at::ScalarType wide_;
};

}  // namespace multicard
