#pragma once
/// \file Normalisation of images [images, channels, height * width], in parallel over channels.

#include "nn/cpu/NormStep.hpp"

namespace multicard {

/// Sizes of contiguous images.
struct PlaneShape {
  std::int64_t images, channels, size;
};

template <typename T>
ChannelMoments plane_moments(const T* x, const PlaneShape& shape);

/// y = act(norm(x)) + residual (may be null)
template <typename T>
void normalise_planes(const T* x, const PlaneShape& shape, const NormCoefficients<T>& norm, const T* residual, T* y);

template <typename T>
GradientSums plane_gradient_sums(const T* dy, const T* x, const PlaneShape& shape, const NormCoefficients<T>& norm);

template <typename T>
void plane_input_gradient(const T* dy, const T* x, const PlaneShape& shape, const NormCoefficients<T>& norm,
                          const NormGradient<T>& gradient, T* dx);

}  // namespace multicard
