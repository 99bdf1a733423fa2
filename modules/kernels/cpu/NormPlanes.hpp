#pragma once
/// \file Normalisation of images [images, channels, height * width], in parallel over channels.

#include "kernels/cpu/NormStep.hpp"

namespace multicard {

/// Sizes of contiguous images.
struct PlaneShape {
  std::int64_t images, channels, size;
};

template <typename S>
ChannelMoments plane_moments(const S* x, const PlaneShape& shape);

/// y = act(norm(x)) + residual (may be null)
template <typename S>
void normalise_planes(const S* x, const PlaneShape& shape, const NormCoefficients<Compute<S>>& norm, const S* residual,
                      S* y);

template <typename S>
GradientSums plane_gradient_sums(const S* dy, const S* x, const PlaneShape& shape,
                                 const NormCoefficients<Compute<S>>& norm);

template <typename S>
void plane_input_gradient(const S* dy, const S* x, const PlaneShape& shape, const NormCoefficients<Compute<S>>& norm,
                          const NormGradient<Compute<S>>& gradient, S* dx);

}  // namespace multicard
