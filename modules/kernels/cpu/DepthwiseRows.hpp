#pragma once
/// \file A 3x3 depthwise convolution with padding 1 on images [height, width, channels], with the normalisation of its
/// input applied on the way: only three rows of the activated input exist at a time.

#include "kernels/cpu/NormStep.hpp"

namespace multicard {

template <typename S>
struct Depthwise {
  std::int64_t images, height, width, channels, stride;
  at::Tensor weight;                           ///< [channels, 1, 3, 3]
  const S* x;                                  ///< [images, height, width, channels], before the normalisation
  const NormCoefficients<Compute<S>>* before;  ///< of x; null: x is the input itself

  std::int64_t height_out() const { return (height - 1) / stride + 1; }
  std::int64_t width_out() const { return (width - 1) / stride + 1; }
};

/// y [images, height_out, width_out, channels]; the moments of y if wanted.
template <typename S>
void depthwise_forward(const Depthwise<S>& layer, S* y, ChannelMoments* moments);

struct DepthwiseGradients {
  at::Tensor weight;    ///< undefined if it is not wanted
  GradientSums before;  ///< of the normalisation of x; zeros if there is none
};

/// The `wanted` gradients of the layer, from the masked gradient `g` after the normalisation `gradient` of its output
/// y. dx, used if that of the input is wanted, receives the gradient of norm(x), zero where the activation was closed.
template <typename S>
DepthwiseGradients depthwise_backward(const Depthwise<S>& layer, const S* g, const S* y,
                                      const NormGradient<Compute<S>>& gradient, Gradients wanted, S* dx);

}  // namespace multicard
