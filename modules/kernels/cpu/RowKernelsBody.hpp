#pragma once
// The loops behind RowKernels; see Vectors.hpp for who may include this.

#include "kernels/cpu/RowKernels.hpp"
#include "kernels/cpu/Vectors.hpp"

namespace multicard {
namespace {

// Calls body<Lanes>(channel) over all channels in blocks of 64 bytes, then smaller ones.
template <typename T, typename Body>
MULTICARD_INLINE void for_channels(std::int64_t channels, Body body) {
  constexpr int kWide = 64 / sizeof(T);
  std::int64_t c = 0;
  for (; c + kWide <= channels; c += kWide)
    body.template operator()<kWide>(c);
  if constexpr (kWide > 8)
    for (; c + 8 <= channels; c += 8)
      body.template operator()<8>(c);
  for (; c < channels; ++c)
    body.template operator()<1>(c);
}

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

template <typename S>
void filter_row(const FilterRows<Compute<S>>& in, const Compute<S>* filter, std::int64_t width_out,
                std::int64_t channels, std::int64_t stride, S* out) {
  using T = Compute<S>;
  for_channels<T>(channels, [&]<int Lanes>(std::int64_t c) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    V taps[9];
    for (int k = 0; k < 9; ++k)
      taps[k] = load<V>(filter + k * channels + c);
    const T *row0 = in.rows[0] + c, *row1 = in.rows[1] + c, *row2 = in.rows[2] + c;
    for (std::int64_t pixel = 0; pixel < width_out; ++pixel) {
      V first{}, second{}, third{};
      for (int k = 0; k < 3; ++k) {
        first += taps[k] * load<V>(row0 + k * channels);
        second += taps[3 + k] * load<V>(row1 + k * channels);
        third += taps[6 + k] * load<V>(row2 + k * channels);
      }
      store(out + pixel * channels + c, first + second + third);
      row0 += stride * channels;
      row1 += stride * channels;
      row2 += stride * channels;
    }
  });
}

template <typename T>
void filter_gradient_row(const FilterRows<T>& in, const T* dout, std::int64_t width_out, std::int64_t channels,
                         std::int64_t stride, T* dfilter) {
  for_channels<T>(channels, [&]<int Lanes>(std::int64_t c) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    V sums[9];
    for (int k = 0; k < 9; ++k)
      sums[k] = load<V>(dfilter + k * channels + c);
    const T *row0 = in.rows[0] + c, *row1 = in.rows[1] + c, *row2 = in.rows[2] + c;
    for (std::int64_t pixel = 0; pixel < width_out; ++pixel) {
      const V gradient = load<V>(dout + pixel * channels + c);
      for (int k = 0; k < 3; ++k) {
        sums[k] += gradient * load<V>(row0 + k * channels);
        sums[3 + k] += gradient * load<V>(row1 + k * channels);
        sums[6 + k] += gradient * load<V>(row2 + k * channels);
      }
      row0 += stride * channels;
      row1 += stride * channels;
      row2 += stride * channels;
    }
    for (int k = 0; k < 9; ++k)
      store(dfilter + k * channels + c, sums[k]);
  });
}

// Input pixel i of a row meets filter column k at output pixel (i + 1 - k) / stride; dout rows start at output pixel
// -1.
template <int Count, typename S>
void filter_input_row_1(const GradientRows<Compute<S>>& dout, std::int64_t width, std::int64_t channels, S* dx) {
  using T = Compute<S>;
  for_channels<T>(channels, [&]<int Lanes>(std::int64_t c) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    V taps[3 * Count];
    for (int k = 0; k < 3 * Count; ++k)
      taps[k] = load<V>(dout.filters[k / 3] + (k % 3) * channels + c);
    for (std::int64_t pixel = 0; pixel < width; ++pixel) {
      V sums[Count]{};
      for (int r = 0; r < Count; ++r)
        for (int k = 0; k < 3; ++k)
          sums[r] += taps[3 * r + k] * load<V>(dout.rows[r] + (pixel + 2 - k) * channels + c);
      for (int r = 1; r < Count; ++r)
        sums[0] += sums[r];
      store(dx + pixel * channels + c, sums[0]);
    }
  });
}

template <int Count, typename S>
void filter_input_row_2(const GradientRows<Compute<S>>& dout, std::int64_t width, std::int64_t channels, S* dx) {
  using T = Compute<S>;
  for_channels<T>(channels, [&]<int Lanes>(std::int64_t c) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    V taps[3 * Count];
    for (int k = 0; k < 3 * Count; ++k)
      taps[k] = load<V>(dout.filters[k / 3] + (k % 3) * channels + c);
    for (std::int64_t pixel = 0; pixel < width; pixel += 2) {
      V even{}, odd{};
      for (int r = 0; r < Count; ++r) {
        const T* near = dout.rows[r] + (pixel / 2 + 1) * channels + c;
        const V left = load<V>(near);
        even += taps[3 * r + 1] * left;
        odd += taps[3 * r + 2] * left + taps[3 * r] * load<V>(near + channels);
      }
      store(dx + pixel * channels + c, even);
      if (pixel + 1 < width) store(dx + (pixel + 1) * channels + c, odd);
    }
  });
}

template <typename S>
void filter_input_row(const GradientRows<Compute<S>>& dout, std::int64_t width, std::int64_t channels,
                      std::int64_t stride, S* dx) {
  if (stride == 1)
    filter_input_row_1<3>(dout, width, channels, dx);
  else if (dout.count == 1)
    filter_input_row_2<1>(dout, width, channels, dx);
  else
    filter_input_row_2<2>(dout, width, channels, dx);
}

template <typename T, typename In, typename Out>
void copy(const In* in, std::int64_t size, Out* out) {
  for_channels<T>(size, [&]<int Lanes>(std::int64_t i)
                            MULTICARD_INLINE_BODY { store(out + i, load<typename Vector<T, Lanes>::Type>(in + i)); });
}

template <typename S>
constexpr RowKernels<S> kRowKernels{moments<S>,
                                    normalise<S>,
                                    normalise_without_residual<S, Compute<S>>,
                                    gradient_sums<S>,
                                    gradient_sums_with_output<S, Compute<S>>,
                                    input_gradient<S>,
                                    input_gradient_wide<S>,
                                    filter_row<S>,
                                    filter_gradient_row<Compute<S>>,
                                    filter_input_row<S>,
                                    copy<Compute<S>, S, Compute<S>>,
                                    copy<Compute<S>, Compute<S>, S>};

}  // namespace
}  // namespace multicard
