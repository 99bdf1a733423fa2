#pragma once
// The normalisation loops of RowKernels; see Vectors.hpp for who may include this.

#include "kernels/cpu/ChannelBlocks.hpp"
#include "kernels/cpu/RowKernels.hpp"

namespace multicard {
namespace {

template <typename S>
void moments(const S* x, std::int64_t rows, std::int64_t channels, double* mean, double* deviation_squares) {
  for_channels<Compute<S>>(channels, [&]<int Lanes>(std::int64_t c) MULTICARD_INLINE_BODY {
    using V = typename Vector<Compute<S>, Lanes>::Type;
    const V origin = load<V>(x + c);
    V sum[4]{}, squares[4]{};
    const auto add = [&](std::int64_t row, int k) MULTICARD_INLINE_BODY {
      const V deviation = load<V>(x + row * channels + c) - origin;
      sum[k] += deviation;
      squares[k] += deviation * deviation;
    };
    std::int64_t row = 1;
    for (; row + 4 <= rows; row += 4)
      for (int k = 0; k < 4; ++k)
        add(row + k, k);
    for (; row < rows; ++row)
      add(row, 0);
    const V all = (sum[0] + sum[1]) + (sum[2] + sum[3]),
            all_squares = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    for (int i = 0; i < Lanes; ++i) {
      const double mean_deviation = lane<Lanes>(all, i) / static_cast<double>(rows);
      mean[c + i] = lane<Lanes>(origin, i) + mean_deviation;
      const double left = lane<Lanes>(all_squares, i) - lane<Lanes>(all, i) * mean_deviation;
      deviation_squares[c + i] = left > 0 ? left : 0;
    }
  });
}

template <Activation Act, bool Adds, typename S, typename Out>
void normalise_as(const S* x, std::int64_t rows, std::int64_t channels, const AffineView<Compute<S>>& affine,
                  const S* residual, Out* y) {
  using T = Compute<S>;
  const T *scale = affine.scale, *mean = affine.mean, *bias = affine.bias;
  for (std::int64_t row = 0; row < rows; ++row, x += channels, y += channels) {
    for_channels<T>(channels, [&]<int Lanes>(std::int64_t c) MULTICARD_INLINE_BODY {
      using V = typename Vector<T, Lanes>::Type;
      prefetch(x + c);
      V value = activated<Act>((load<V>(x + c) - load<V>(mean + c)) * load<V>(scale + c) + load<V>(bias + c), T());
      if constexpr (Adds) value += load<V>(residual + c);
      store(y + c, value);
    });
    if constexpr (Adds) residual += channels;
  }
}

template <typename S, typename Out>
void normalise_without_residual(const S* x, std::int64_t rows, std::int64_t channels,
                                const AffineView<Compute<S>>& affine, Out* y) {
  if (affine.activation == Activation::relu6)
    normalise_as<Activation::relu6, false, S>(x, rows, channels, affine, nullptr, y);
  else
    normalise_as<Activation::none, false, S>(x, rows, channels, affine, nullptr, y);
}

template <typename S>
void normalise(const S* x, std::int64_t rows, std::int64_t channels, const AffineView<Compute<S>>& affine,
               const S* residual, S* y) {
  if (residual)
    normalise_as<Activation::none, true>(x, rows, channels, affine, residual, y);
  else
    normalise_without_residual(x, rows, channels, affine, y);
}

// The value that `to` then holds.
template <typename V, typename S>
MULTICARD_INLINE V stored(S* to, V value) {
  store(to, value);
  return load<V>(to);
}

template <Activation Act, bool Writes, typename S, typename In>
void gradient_sums_as(const In* dy, const S* x, std::int64_t rows, std::int64_t channels,
                      const AffineView<Compute<S>>& affine, double* sum, double* deviation_sum, S* g_out) {
  using T = Compute<S>;
  for_channels<T>(channels, [&]<int Lanes>(std::int64_t c) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    const V scale = load<V>(affine.scale + c), mean = load<V>(affine.mean + c), bias = load<V>(affine.bias + c);
    V sums[4]{}, products[4]{};
    const auto add = [&](std::int64_t row, int k) MULTICARD_INLINE_BODY {
      const V deviation = load<V>(x + row * channels + c) - mean;
      V g = open_gradient<Act>(load<V>(dy + row * channels + c), deviation * scale + bias, T());
      if constexpr (Writes) g = stored(g_out + row * channels + c, g);
      sums[k] += g;
      products[k] += g * deviation;
    };
    std::int64_t row = 0;
    for (; row + 4 <= rows; row += 4)
      for (int k = 0; k < 4; ++k)
        add(row + k, k);
    for (; row < rows; ++row)
      add(row, 0);
    const V all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    const V all_products = (products[0] + products[1]) + (products[2] + products[3]);
    for (int i = 0; i < Lanes; ++i) {
      sum[c + i] += lane<Lanes>(all, i);
      deviation_sum[c + i] += lane<Lanes>(all_products, i);
    }
  });
}

template <typename S, typename In>
void gradient_sums_with_output(const In* dy, const S* x, std::int64_t rows, std::int64_t channels,
                               const AffineView<Compute<S>>& affine, double* sum, double* deviation_sum, S* g_out) {
  if (affine.activation == Activation::relu6)
    gradient_sums_as<Activation::relu6, true>(dy, x, rows, channels, affine, sum, deviation_sum, g_out);
  else
    gradient_sums_as<Activation::none, true>(dy, x, rows, channels, affine, sum, deviation_sum, g_out);
}

template <typename S>
void gradient_sums(const S* dy, const S* x, std::int64_t rows, std::int64_t channels,
                   const AffineView<Compute<S>>& affine, double* sum, double* deviation_sum, S* g_out) {
  if (g_out)
    gradient_sums_with_output(dy, x, rows, channels, affine, sum, deviation_sum, g_out);
  else if (affine.activation == Activation::relu6)
    gradient_sums_as<Activation::relu6, false>(dy, x, rows, channels, affine, sum, deviation_sum, g_out);
  else
    gradient_sums_as<Activation::none, false>(dy, x, rows, channels, affine, sum, deviation_sum, g_out);
}

// `bias` is that of the normalisation, for Act other than none.
template <Activation Act, typename S, typename Out>
void input_gradient_as(const S* dy, const S* x, std::int64_t rows, std::int64_t channels, const Compute<S>* bias,
                       const GradientView<Compute<S>>& gradient, Out* dx) {
  using T = Compute<S>;
  const T *scale = gradient.scale, *slope = gradient.slope, *offset = gradient.offset, *mean = gradient.mean;
  for (std::int64_t row = 0; row < rows; ++row, dy += channels, x += channels, dx += channels)
    for_channels<T>(channels, [&]<int Lanes>(std::int64_t c) MULTICARD_INLINE_BODY {
      using V = typename Vector<T, Lanes>::Type;
      const V deviation = load<V>(x + c) - load<V>(mean + c), factor = load<V>(scale + c);
      prefetch(x + c);
      prefetch(dy + c);
      V g = load<V>(dy + c);
      if constexpr (Act != Activation::none) g = open_gradient<Act>(g, deviation * factor + load<V>(bias + c), T());
      store(dx + c, g * factor + (deviation * load<V>(slope + c) + load<V>(offset + c)));
    });
}

template <typename S>
void input_gradient(const S* dy, const S* x, std::int64_t rows, std::int64_t channels,
                    const AffineView<Compute<S>>& affine, const GradientView<Compute<S>>& gradient, S* dx) {
  if (affine.activation == Activation::relu6)
    input_gradient_as<Activation::relu6>(dy, x, rows, channels, affine.bias, gradient, dx);
  else
    input_gradient_as<Activation::none>(dy, x, rows, channels, affine.bias, gradient, dx);
}

template <typename S>
void input_gradient_wide(const S* dy, const S* x, std::int64_t rows, std::int64_t channels,
                         const GradientView<Compute<S>>& gradient, Compute<S>* dx) {
  input_gradient_as<Activation::none>(dy, x, rows, channels, static_cast<const Compute<S>*>(nullptr), gradient, dx);
}

}  // namespace
}  // namespace multicard
