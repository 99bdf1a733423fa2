#pragma once
/// \file The block of MobileNetV2 as one operation of the CPU path.

#include "nn/InvertedResidual.hpp"

namespace multicard {

/// Whether fused_inverted_residual() can take this input: channels_last, float32 or float64, as the block's tensors.
bool can_fuse(const at::Tensor& x, const InvertedResidual& block, const NormContext& context);

/// The same as InvertedResidual::forward() to rounding. Kept for backward are the input and the outputs of the three
/// convolutions only; activated values and the gradients of convolution outputs exist in cache-sized blocks.
at::Tensor fused_inverted_residual(const at::Tensor& x, const InvertedResidual& block, const NormContext& context);

}  // namespace multicard
