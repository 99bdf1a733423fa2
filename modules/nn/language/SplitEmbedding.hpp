#pragma once
/// \file Rows of an embedding whose memory is lent for as long as it is read.

#include <ATen/core/Tensor.h>

#include "nn/layers/BlockHooks.hpp"

namespace multicard {

/// Rows `tokens` (int64, one dimension) of `values`, [tokens, size]: the first block of a network for its hooks, which
/// are called around forward and around backward. There the gradient is added to that of `leaf` before the block is
/// left, unless it has none, when it is left to autograd.
/// \param leaf what is trained \param values the same, or its values in another type \param hooks used until backward
/// is over
at::Tensor split_embedding(const at::Tensor& leaf, const at::Tensor& values, const at::Tensor& tokens,
                           BlockHooks& hooks);

}  // namespace multicard
