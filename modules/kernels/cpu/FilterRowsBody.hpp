#pragma once
// The loops of RowKernels for 3 x 3 filters; see Vectors.hpp for who may include this.

#include "kernels/cpu/ChannelBlocks.hpp"
#include "kernels/cpu/RowKernels.hpp"

namespace multicard {
namespace {

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

}  // namespace
}  // namespace multicard
