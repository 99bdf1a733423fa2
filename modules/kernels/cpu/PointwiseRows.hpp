#pragma once
/// \file A 1x1 convolution on matrices [rows, channels] with the normalisation of its input applied on the way, so that
/// the activated input exists only in blocks that stay in the cache, and so does the gradient of its own output.

#include "kernels/cpu/NormStep.hpp"

namespace multicard {

template <typename S>
struct Pointwise {
  std::int64_t rows;
  at::Tensor weight;                           ///< [out, in, 1, 1]
  const S* x;                                  ///< [rows, in], before the normalisation
  const NormCoefficients<Compute<S>>* before;  ///< of x; null: x is the input itself

  std::int64_t in() const { return weight.size(1); }
  std::int64_t out() const { return weight.size(0); }
};

/// y [rows, out] = act(norm(x)) weight^T; the moments of y if wanted.
template <typename S>
void pointwise_forward(const Pointwise<S>& layer, S* y, ChannelMoments* moments);

struct PointwiseGradients {
  at::Tensor weight;    ///< undefined if it is not wanted
  GradientSums before;  ///< of the normalisation of x; zeros if there is none
};

/// The `wanted` gradients of the layer, from `dy` after the (linear or already masked) normalisation `gradient` of its
/// output y. dx [rows, in], used if that of the input is wanted, receives the gradient of norm(x), zero where the
/// activation was closed, plus `residual` (may be null; only without `before`).
template <typename S>
PointwiseGradients pointwise_backward(const Pointwise<S>& layer, const S* dy, const S* y,
                                      const NormGradient<Compute<S>>& gradient, const S* residual, Gradients wanted,
                                      S* dx);

}  // namespace multicard
