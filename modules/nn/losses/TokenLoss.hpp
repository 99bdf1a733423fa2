#pragma once
/// \file Cross-entropy of next tokens without ever holding all logits.

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace multicard {

/// What the positions of a batch are to predict.
struct TokenTargets {
  at::Tensor positions;  ///< int64 [targets]: those that predict a token
  at::Tensor tokens;     ///< int64 [targets]: which
};

/// The positions whose `targets` (int64 [tokens]) are not negative. On a GPU there must be `count` of them, so that the
/// device need not be asked; elsewhere they are counted.
TokenTargets token_targets(const at::Tensor& targets, std::int64_t count);

/// The weight of an output layer, [vocabulary, size].
struct OutputWeight {
  OutputWeight(const at::Tensor& weight)  // NOLINT(google-explicit-constructor): a weight
      : leaf(weight), values(weight) {}

  at::Tensor leaf;    ///< what autograd sees
  at::Tensor values;  ///< what products are made with: the leaf, or its values in another type
  /// Where the loss leaves the gradient of `leaf`, in place of autograd: zero when it is computed, the loss's alone
  /// from then on, and complete after backward. Undefined: the gradient is autograd's.
  at::Tensor gradient;
};

/// Targets whose logits are held at a time: as many as fill the memory that pays, in whole blocks of a product.
std::int64_t automatic_chunk(const at::Tensor& weight);

/// Sum over the targets of the cross-entropy of hidden [tokens, size] times weight^T, weight [vocabulary, size]:
/// 0-dimensional, float32 (float64 for float64 hidden). Matmuls are computed in the type of `hidden`, softmax in
/// float32 at least; logits exist for `chunk` targets at a time (automatic_chunk() by default). The gradients are
/// computed together with the loss.
at::Tensor token_loss(const at::Tensor& hidden, const OutputWeight& weight, const TokenTargets& targets,
                      std::optional<std::int64_t> chunk = std::nullopt);

}  // namespace multicard
