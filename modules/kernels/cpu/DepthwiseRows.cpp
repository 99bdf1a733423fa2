#include "kernels/cpu/DepthwiseRows.hpp"

#include <ATen/ops/empty_like.h>

#include "kernels/cpu/NormRows.hpp"
#include "kernels/cpu/Partition.hpp"
#include "kernels/cpu/RowRing.hpp"

namespace multicard {
namespace {

constexpr std::int64_t kFilterSize = 9;

// [channels, 9] -> [9, channels]
template <typename S>
at::Tensor filter_of(const Depthwise<S>& layer) {
  // So that the channels of one tap are neighbours, as those of a pixel are: one vector load for each.
  return layer.weight.view({layer.channels, kFilterSize}).t().contiguous();
}

template <typename S>
void forward_image(const Depthwise<S>& layer, const Compute<S>* filter, InputRows<S>& input, S* y,
                   ChannelMoments* moments) {
  const std::int64_t width_out = layer.width_out(), channels = layer.channels;
  Band band(width_out, layer.height_out());
  for (std::int64_t row = 0; row < layer.height_out(); ++row) {
    row_kernels<S>().filter_row(input.around(row), filter, width_out, channels, layer.stride,
                                y + row * width_out * channels);
    band.end_row(row, [&](std::int64_t first, std::int64_t pixels) {
      join_block(y + first * channels, pixels, channels, moments);
    });
  }
}

// The backward pass of some of the images.
template <typename S>
class BackwardPart {
  using C = Compute<S>;

 public:
  BackwardPart(const Depthwise<S>& layer, const NormGradient<Compute<S>>& gradient, const Compute<S>* filter,
               Gradients wanted, GradientSums& sums)
      : layer_(layer),
        gradient_(gradient),
        filter_(filter),
        wanted_(wanted),
        sums_(sums),
        input_(layer),
        doutput_(layer.height_out(), layer.width_out(), layer.channels),
        dfilter_(Scratch<C>::zeros(kFilterSize * layer.channels)) {}

  // `dx` of all images.
  void run(std::int64_t image, const S* g, const S* y, S* dx) {
    const std::int64_t size_in = layer_.height * layer_.width * layer_.channels;
    const std::int64_t size_out = layer_.height_out() * layer_.width_out() * layer_.channels;
    input_.start(layer_.x + image * size_in);
    next_ = 0;
    Band band(layer_.width, layer_.height);
    // Output row r reads input rows up to stride * r + 1, and the input rows that are finished after it are reached by
    // output row r + 1 at most: with gradients one row ahead both rings hold what is needed.
    for (std::int64_t row = 0; row < layer_.height_out(); ++row) {
      fill_gradients(row + 1, g + image * size_out, y + image * size_out);
      if (wanted_ != Gradients::of_input)
        row_kernels<S>().filter_gradient_row(input_.around(row), doutput_.pixels(row), layer_.width_out(),
                                             layer_.channels, layer_.stride, dfilter_.data());
      if (wanted_ == Gradients::of_weight) continue;
      const std::int64_t end = std::min((row + 1) * layer_.stride, layer_.height);
      for (std::int64_t row_in = row * layer_.stride; row_in < end; ++row_in)
        input_row(row_in, image, dx + image * size_in, band);
    }
  }
  const C* dfilter() const { return dfilter_.data(); }

 private:
  void fill_gradients(std::int64_t last, const S* g, const S* y) {
    const std::int64_t size = layer_.width_out() * layer_.channels;
    for (; next_ <= std::min(last, layer_.height_out() - 1); ++next_)
      row_kernels<S>().input_gradient_wide(g + next_ * size, y + next_ * size, layer_.width_out(), layer_.channels,
                                           gradient_.view(), doutput_.pixels(next_));
  }

  // Input row i meets filter row k at output row (i + 1 - k) / stride.
  GradientRows<C> gradients_of(std::int64_t row_in) const {
    const auto filter_row = [&](int k) { return filter_ + 3 * k * layer_.channels; };
    if (layer_.stride == 1)
      return {{doutput_.padded(row_in + 1), doutput_.padded(row_in), doutput_.padded(row_in - 1)},
              {filter_row(0), filter_row(1), filter_row(2)},
              3};
    const std::int64_t half = row_in / 2;
    if (row_in % 2 == 0) return {{doutput_.padded(half)}, {filter_row(1)}, 1};
    return {{doutput_.padded(half + 1), doutput_.padded(half)}, {filter_row(0), filter_row(2)}, 2};
  }

  void input_row(std::int64_t row_in, std::int64_t image, S* dimage, Band& band) {
    const std::int64_t channels = layer_.channels;
    row_kernels<S>().filter_input_row(gradients_of(row_in), layer_.width, channels, layer_.stride,
                                      dimage + row_in * layer_.width * channels);
    if (!layer_.before) return;
    const S* x = layer_.x + image * layer_.height * layer_.width * channels;
    band.end_row(row_in, [&](std::int64_t first, std::int64_t pixels) {
      S* band_gradient = dimage + first * channels;
      row_kernels<S>().gradient_sums(band_gradient, x + first * channels, pixels, channels, layer_.before->view(),
                                     sums_.g.data(), sums_.g_deviation.data(), band_gradient);
    });
  }

  const Depthwise<S>& layer_;
  const NormGradient<Compute<S>>& gradient_;
  const C* filter_;
  Gradients wanted_;
  GradientSums& sums_;
  InputRows<S> input_;
  RowRing<C> doutput_;
  Scratch<C> dfilter_;
  std::int64_t next_ = 0;
};

}  // namespace

template <typename S>
void depthwise_forward(const Depthwise<S>& layer, S* y, ChannelMoments* moments) {
  const at::Tensor filter = filter_of(layer);
  const std::int64_t size_in = layer.height * layer.width * layer.channels;
  const std::int64_t size_out = layer.height_out() * layer.width_out() * layer.channels;
  const Partition partition(layer.images, 1);
  std::vector<ChannelMoments> parts(partition.num_parts(), ChannelMoments(moments ? layer.channels : 0));
  partition.for_each([&](std::int64_t part, std::int64_t first, std::int64_t end) {
    InputRows<S> input(layer);
    for (std::int64_t image = first; image < end; ++image) {
      input.start(layer.x + image * size_in);
      forward_image(layer, filter.const_data_ptr<Compute<S>>(), input, y + image * size_out,
                    moments ? &parts[part] : nullptr);
    }
  });
  if (moments)
    for (const ChannelMoments& part : parts)
      moments->join(part);
}

template <typename S>
DepthwiseGradients depthwise_backward(const Depthwise<S>& layer, const S* g, const S* y,
                                      const NormGradient<Compute<S>>& gradient, Gradients wanted, S* dx) {
  using C = Compute<S>;
  const at::Tensor filter = filter_of(layer);
  const Partition partition(layer.images, 1);
  const std::int64_t size = kFilterSize * layer.channels, num_parts = std::max<std::int64_t>(1, partition.num_parts());
  const std::int64_t num_sums = layer.before && wanted != Gradients::of_weight ? layer.channels : 0;
  auto dfilters = Scratch<C>::zeros(num_parts * size);
  // One filter gradient and one set of sums a part, added in the order of parts: no locks, and the same bits with any
  // number of threads (Partition).
  std::vector<GradientSums> sums(num_parts, GradientSums(num_sums));
  partition.for_each([&](std::int64_t part, std::int64_t first, std::int64_t end) {
    BackwardPart<S> worker(layer, gradient, filter.const_data_ptr<Compute<S>>(), wanted, sums[part]);
    for (std::int64_t image = first; image < end; ++image)
      worker.run(image, g, y, dx);
    std::memcpy(dfilters.data() + part * size, worker.dfilter(), static_cast<std::size_t>(size) * sizeof(C));
  });
  DepthwiseGradients result{{}, GradientSums(num_sums)};
  for (const GradientSums& part : sums)
    result.before.add(part);
  if (wanted == Gradients::of_input) return result;
  result.weight = at::empty_like(layer.weight);
  at::Tensor dfilter = at::empty_like(filter);
  sum_parts(dfilters.data(), num_parts, size, dfilter.mutable_data_ptr<C>());
  result.weight.view({layer.channels, kFilterSize}).copy_(dfilter.t());
  return result;
}

// NOLINTBEGIN(bugprone-macro-parentheses): S is a type
#define MULTICARD_INSTANTIATE(S)                                                          \
  template void depthwise_forward(const Depthwise<S>&, S*, ChannelMoments*);              \
  template DepthwiseGradients depthwise_backward(const Depthwise<S>&, const S*, const S*, \
                                                 const NormGradient<Compute<S>>&, Gradients, S*)
// NOLINTEND(bugprone-macro-parentheses)
MULTICARD_INSTANTIATE(float);
MULTICARD_INSTANTIATE(double);
MULTICARD_INSTANTIATE(Bfloat16);
MULTICARD_INSTANTIATE(Float16);
#undef MULTICARD_INSTANTIATE

}  // namespace multicard
