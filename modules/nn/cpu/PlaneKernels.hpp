#pragma once
/// \file The innermost loops of normalisation over planes [height * width] of one channel, compiled once for each
/// instruction set.

#include <cstdint>

#include "nn/Activation.hpp"

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
template <typename T>
struct PlaneKernels {
  void (*moments)(const T* x, std::int64_t size, double* mean, double* deviation_squares);
  void (*normalise)(const T* x, std::int64_t size, const PlaneAffine<T>& affine, const T* residual, T* y);
  void (*gradient_sums)(const T* dy, const T* x, std::int64_t size, const PlaneAffine<T>& affine, double* sum,
                        double* deviation_sum);
  void (*input_gradient)(const T* dy, const T* x, std::int64_t size, const PlaneAffine<T>& affine,
                         const PlaneGradient<T>& gradient, T* dx);
};

/// The kernels for the instruction set of this CPU.
template <typename T>
const PlaneKernels<T>& plane_kernels();

}  // namespace multicard
