#pragma once
/// \file Normalisation of matrices [rows, channels], in parallel over rows.

#include "nn/cpu/NormStep.hpp"

namespace multicard {

template <typename T>
ChannelMoments channel_moments(const T* x, std::int64_t rows, std::int64_t channels);

/// y = act(norm(x)) + residual (may be null)
template <typename T>
void normalise_rows(const T* x, std::int64_t rows, const NormCoefficients<T>& norm, const T* residual, T* y);

template <typename T>
GradientSums norm_gradient_sums(const T* dy, const T* x, std::int64_t rows, const NormCoefficients<T>& norm);

template <typename T>
void norm_input_gradient(const T* dy, const T* x, std::int64_t rows, const NormCoefficients<T>& norm,
                         const NormGradient<T>& gradient, T* dx);

/// Joins one block's moments with `moments`, if there is one.
template <typename T>
void join_block(const T* x, std::int64_t rows, std::int64_t channels, ChannelMoments* moments);

}  // namespace multicard
