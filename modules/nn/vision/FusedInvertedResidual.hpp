#pragma once
/// \file The block of MobileNetV2 as one operation of the CPU path.

#include "nn/vision/InvertedResidual.hpp"

namespace multicard {

/// Whether fused_inverted_residual() can take this input: float32 or float64, as the block's tensors, or bfloat16 or
/// float16 with float32 tensors; under autocast of its type only, as convolutions would give another one.
bool can_fuse(const at::Tensor& x, const InvertedResidual& block, const NormContext& context);

/// The same as InvertedResidual::forward() to rounding. Kept for backward are the input and the outputs of the three
/// convolutions only; activated values and the gradients of convolution outputs exist in cache-sized blocks, where
/// values of 16 bits are computed in float32. Backward leaves out what frozen parameters do not need. Contiguous images
/// are turned into channels_last ones at the block's edges.
at::Tensor fused_inverted_residual(const at::Tensor& x, const InvertedResidual& block, const NormContext& context);

}  // namespace multicard
