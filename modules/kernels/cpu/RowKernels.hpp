#pragma once
/// \file The innermost loops of the CPU path over rows of channels, compiled once for each instruction set.

#include <cstdint>

#include "kernels/Activation.hpp"
#include "kernels/cpu/Storage.hpp"

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

/// Matrices are [rows, C], row-major, without gaps, of storage type S; "wide" ones are of Compute<S>. Sums are taken in
/// double or in Compute<S> over at most a few hundred rows.
template <typename S>
struct RowKernels {
  using C = Compute<S>;

  /// Mean and sum of squared deviations of each column (rows > 0), by deviations from the first row.
  void (*moments)(const S* x, std::int64_t rows, std::int64_t channels, double* mean, double* deviation_squares);
  /// y = act(z) + residual (may be null).
  void (*normalise)(const S* x, std::int64_t rows, std::int64_t channels, const AffineView<C>& affine,
                    const S* residual, S* y);
  /// y = act(z), not rounded.
  void (*normalise_wide)(const S* x, std::int64_t rows, std::int64_t channels, const AffineView<C>& affine, C* y);
  /// g = dy where the activation is open, else 0; adds the column sums of g and of g * (x - mean). g_out may be null or
  /// dy.
  void (*gradient_sums)(const S* dy, const S* x, std::int64_t rows, std::int64_t channels, const AffineView<C>& affine,
                        double* sum, double* deviation_sum, S* g_out);
  /// The same from values that are not rounded yet; g_out, which is wanted here, and the sums are of rounded ones.
  void (*gradient_sums_wide)(const C* dy, const S* x, std::int64_t rows, std::int64_t channels,
                             const AffineView<C>& affine, double* sum, double* deviation_sum, S* g_out);
  /// dx = g * scale + (x - mean) * slope + offset with g as above.
  void (*input_gradient)(const S* dy, const S* x, std::int64_t rows, std::int64_t channels, const AffineView<C>& affine,
                         const GradientView<C>& gradient, S* dx);
  /// The same for an activation that is none, not rounded.
  void (*input_gradient_wide)(const S* dy, const S* x, std::int64_t rows, std::int64_t channels,
                              const GradientView<C>& gradient, C* dx);
  /// One output row [width_out, C] of a 3x3 depthwise filter [9, C].
  void (*filter_row)(const FilterRows<C>& in, const C* filter, std::int64_t width_out, std::int64_t channels,
                     std::int64_t stride, S* out);
  /// Adds to the filter's gradient [9, C] what one row of output gradients [width_out, C] gives.
  void (*filter_gradient_row)(const FilterRows<C>& in, const C* dout, std::int64_t width_out, std::int64_t channels,
                              std::int64_t stride, C* dfilter);
  /// One row [width, C] of input gradients.
  void (*filter_input_row)(const GradientRows<C>& dout, std::int64_t width, std::int64_t channels, std::int64_t stride,
                           S* dx);
  /// out = in for `size` values.
  void (*widen)(const S* in, std::int64_t size, C* out);
  void (*narrow)(const C* in, std::int64_t size, S* out);
};

/// The kernels for the instruction set of this CPU.
template <typename S>
const RowKernels<S>& row_kernels();

}  // namespace multicard
