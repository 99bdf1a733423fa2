#pragma once
/// \file A 3x3 depthwise convolution with padding 1 on images [height, width, channels], with the normalisation of its
/// input applied on the way: only three rows of the activated input exist at a time.

#include "nn/cpu/NormStep.hpp"

namespace multicard {

template <typename T>
struct Depthwise {
  std::int64_t images, height, width, channels, stride;
  at::Tensor weight;                  ///< [channels, 1, 3, 3]
  const T* x;                         ///< [images, height, width, channels], before the normalisation
  const NormCoefficients<T>* before;  ///< of x; null: x is the input itself

  std::int64_t height_out() const { return (height - 1) / stride + 1; }
  std::int64_t width_out() const { return (width - 1) / stride + 1; }
};

/// y [images, height_out, width_out, channels]; the moments of y if wanted.
template <typename T>
void depthwise_forward(const Depthwise<T>& layer, T* y, ChannelMoments* moments);

template <typename T>
struct DepthwiseGradients {
  at::Tensor weight;
  GradientSums before;  ///< of the normalisation of x; zeros if there is none
};

/// The gradients of the layer, from the masked gradient `g` behind the normalisation `gradient` of its output y. dx
/// receives the gradient of norm(x), zero where the activation was closed.
template <typename T>
DepthwiseGradients<T> depthwise_backward(const Depthwise<T>& layer, const T* g, const T* y,
                                         const NormGradient<T>& gradient, T* dx);

}  // namespace multicard
