#pragma once
/// \file The innermost loops of normalisation over planes [height * width] of one channel, compiled once for each
/// instruction set.

#include <cstdint>

#include "kernels/Activation.hpp"
#include "kernels/cpu/Storage.hpp"

namespace multicard {

/// Coefficients of one channel: z = (x - mean) * scale + bias; y = act(z).
template <typename T>
struct PlaneAffine {
  T scale, mean, bias;
  Activation activation;
};

/// Coefficients of its backward: dx = g * scale + (x - mean) * slope + offset.
template <typename T>
struct PlaneGradient {
  T scale, slope, offset;
};

/// The same functions as in RowKernels, on the `size` values of one plane.
template <typename S>
struct PlaneKernels {
  using C = Compute<S>;

  void (*moments)(const S* x, std::int64_t size, double* mean, double* deviation_squares);
  void (*normalise)(const S* x, std::int64_t size, const PlaneAffine<C>& affine, const S* residual, S* y);
  void (*gradient_sums)(const S* dy, const S* x, std::int64_t size, const PlaneAffine<C>& affine, double* sum,
                        double* deviation_sum);
  void (*input_gradient)(const S* dy, const S* x, std::int64_t size, const PlaneAffine<C>& affine,
                         const PlaneGradient<C>& gradient, S* dx);
};

/// The kernels for the instruction set of this CPU.
template <typename S>
const PlaneKernels<S>& plane_kernels();

}  // namespace multicard
