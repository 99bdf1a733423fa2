#pragma once
/// \file The innermost loops of the CPU path over rows of channels, compiled once for each instruction set.

#include <cstdint>

#include "nn/Activation.hpp"

namespace multicard {

/// Coefficients of one normalisation, each [C]: z = (x - mean) * scale + bias; y = act(z).
template <typename T>
struct AffineView {
  const T* scale;
  const T* mean;
  const T* bias;
  Activation activation;
};

/// Coefficients of its backward, each [C]: dx = g * scale + (x - mean) * slope + offset.
template <typename T>
struct GradientView {
  const T* scale;
  const T* slope;
  const T* offset;
  const T* mean;
};

/// Three padded rows of an image for a 3x3 filter; each [width + 2, C] with a zero pixel at both ends.
template <typename T>
struct FilterRows {
  const T* rows[3];
};

/// Rows of output gradients that reach one input row, each [width_out + 2, C] with zero pixels at both ends, with the
/// filter row [3, C] that connects them.
template <typename T>
struct GradientRows {
  const T* rows[3];
  const T* filters[3];
  int count;
};

/// Matrices are [rows, C], row-major, without gaps. Sums are taken in double or in T over at most a few hundred rows.
template <typename T>
struct RowKernels {
  /// Mean and sum of squared deviations of each column (rows > 0), by deviations from the first row.
  void (*moments)(const T* x, std::int64_t rows, std::int64_t channels, double* mean, double* deviation_squares);
  /// y = act(z) + residual (may be null).
  void (*normalise)(const T* x, std::int64_t rows, std::int64_t channels, const AffineView<T>& affine,
                    const T* residual, T* y);
  /// g = dy where the activation is open, else 0; adds the column sums of g and of g * (x - mean). g_out may be null or
  /// dy.
  void (*gradient_sums)(const T* dy, const T* x, std::int64_t rows, std::int64_t channels, const AffineView<T>& affine,
                        double* sum, double* deviation_sum, T* g_out);
  /// dx = g * scale + (x - mean) * slope + offset with g as above.
  void (*input_gradient)(const T* dy, const T* x, std::int64_t rows, std::int64_t channels, const AffineView<T>& affine,
                         const GradientView<T>& gradient, T* dx);
  /// One output row [width_out, C] of a 3x3 depthwise filter [9, C].
  void (*filter_row)(const FilterRows<T>& in, const T* filter, std::int64_t width_out, std::int64_t channels,
                     std::int64_t stride, T* out);
  /// Adds to the filter's gradient [9, C] what one row of output gradients [width_out, C] gives.
  void (*filter_gradient_row)(const FilterRows<T>& in, const T* dout, std::int64_t width_out, std::int64_t channels,
                              std::int64_t stride, T* dfilter);
  /// One row [width, C] of input gradients.
  void (*filter_input_row)(const GradientRows<T>& dout, std::int64_t width, std::int64_t channels, std::int64_t stride,
                           T* dx);
};

/// The kernels for the instruction set of this CPU.
template <typename T>
const RowKernels<T>& row_kernels();

}  // namespace multicard
