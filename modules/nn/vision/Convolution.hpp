#pragma once
/// \file Convolutions without bias, and the pair convolution + batch normalisation.

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "nn/vision/BatchNormAct.hpp"

namespace multicard {

/// A square convolution that keeps the size at stride 1: padding (kernel - 1) / 2 with odd kernels, no bias.
struct Convolution {
  std::int64_t in = 0, out = 0;  ///< channels
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
};

/// x [N, in, H, W] with weight [out, in / groups, kernel, kernel]; N may be 0. Under
/// autocast both are rounded to its type, and so is the result; on the CPU float16 is computed in float32 between.
at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight, const Convolution& convolution);

/// A convolution and the normalisation of its output.
struct ConvNorm {
  Convolution convolution;
  at::Tensor weight;
  NormTensors norm;

  /// act(norm(convolution(x)))
  at::Tensor forward(const at::Tensor& x, const NormContext& context, Activation activation) const {
    return batch_norm_act(convolve(x, weight, convolution), norm, context, activation);
  }
  /// act(norm(convolution(x)) + residual)
  at::Tensor forward_add(const at::Tensor& x, const NormContext& context, const at::Tensor& residual,
                         Activation activation = Activation::none) const {
    return batch_norm_add(convolve(x, weight, convolution), norm, context, residual, activation);
  }
};

}  // namespace multicard
