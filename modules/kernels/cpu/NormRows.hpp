#pragma once
/// \file Normalisation of matrices [rows, channels], in parallel over rows.

#include "kernels/cpu/NormStep.hpp"

namespace multicard {

template <typename S>
ChannelMoments channel_moments(const S* x, std::int64_t rows, std::int64_t channels);

/// y = act(norm(x)) + residual (may be null)
template <typename S>
void normalise_rows(const S* x, std::int64_t rows, const NormCoefficients<Compute<S>>& norm, const S* residual, S* y);

template <typename S>
GradientSums norm_gradient_sums(const S* dy, const S* x, std::int64_t rows, const NormCoefficients<Compute<S>>& norm);

template <typename S>
void norm_input_gradient(const S* dy, const S* x, std::int64_t rows, const NormCoefficients<Compute<S>>& norm,
                         const NormGradient<Compute<S>>& gradient, S* dx);

/// Joins one block's moments with `moments`, if there is one.
template <typename S>
void join_block(const S* x, std::int64_t rows, std::int64_t channels, ChannelMoments* moments);

}  // namespace multicard
