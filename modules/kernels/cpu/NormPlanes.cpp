#include "kernels/cpu/NormPlanes.hpp"

#include "kernels/cpu/Partition.hpp"
#include "kernels/cpu/PlaneKernels.hpp"

namespace multicard {
namespace {

// Calls body(channel, offset of its plane), image by image so that memory is read in order.
template <typename Body>
void for_planes(const PlaneShape& shape, const Body& body) {
  // By channels: each thread has the moments and sums of its own, and the order of images is that of the memory.
  Partition(shape.channels, 1).for_each([&](std::int64_t, std::int64_t first, std::int64_t end) {
    for (std::int64_t image = 0; image < shape.images; ++image)
      for (std::int64_t channel = first; channel < end; ++channel)
        body(channel, (image * shape.channels + channel) * shape.size);
  });
}

template <typename T>
PlaneAffine<T> affine_of(const NormCoefficients<T>& norm, std::int64_t channel) {
  return {norm.scale[channel], norm.mean[channel], norm.bias[channel], norm.activation};
}

// Moments of one more plane of a channel (Chan, Golub and LeVeque 1979).
void join_plane(ChannelMoments& moments, std::int64_t channel, double planes_before, double size, double mean,
                double squares) {
  // ChannelMoments::join() for one channel and equal counts: n = planes_before * size, m = size.
  const double difference = mean - moments.mean[channel], share = 1.0 / (planes_before + 1.0);
  moments.mean[channel] += difference * share;
  moments.deviation_squares[channel] += squares + difference * difference * planes_before * size * share;
}

}  // namespace

template <typename S>
ChannelMoments plane_moments(const S* x, const PlaneShape& shape) {
  ChannelMoments moments(shape.channels);
  if (shape.images * shape.size == 0) return moments;
  const std::int64_t image_size = shape.channels * shape.size;
  for_planes(shape, [&](std::int64_t channel, std::int64_t offset) {
    double mean = 0, squares = 0;
    plane_kernels<S>().moments(x + offset, shape.size, &mean, &squares);
    const std::int64_t image = offset / image_size;
    join_plane(moments, channel, static_cast<double>(image), static_cast<double>(shape.size), mean, squares);
  });
  moments.count = static_cast<double>(shape.images * shape.size);
  return moments;
}

template <typename S>
void normalise_planes(const S* x, const PlaneShape& shape, const NormCoefficients<Compute<S>>& norm, const S* residual,
                      S* y) {
  for_planes(shape, [&](std::int64_t channel, std::int64_t offset) {
    plane_kernels<S>().normalise(x + offset, shape.size, affine_of(norm, channel),
                                 residual ? residual + offset : nullptr, y + offset);
  });
}

template <typename S>
GradientSums plane_gradient_sums(const S* dy, const S* x, const PlaneShape& shape,
                                 const NormCoefficients<Compute<S>>& norm) {
  GradientSums sums(shape.channels);
  for_planes(shape, [&](std::int64_t channel, std::int64_t offset) {
    plane_kernels<S>().gradient_sums(dy + offset, x + offset, shape.size, affine_of(norm, channel), &sums.g[channel],
                                     &sums.g_deviation[channel]);
  });
  return sums;
}

template <typename S>
void plane_input_gradient(const S* dy, const S* x, const PlaneShape& shape, const NormCoefficients<Compute<S>>& norm,
                          const NormGradient<Compute<S>>& gradient, S* dx) {
  for_planes(shape, [&](std::int64_t channel, std::int64_t offset) {
    const PlaneGradient<Compute<S>> coefficients{gradient.scale[channel], gradient.slope[channel],
                                                 gradient.offset[channel]};
    plane_kernels<S>().input_gradient(dy + offset, x + offset, shape.size, affine_of(norm, channel), coefficients,
                                      dx + offset);
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): S is a type
#define MULTICARD_INSTANTIATE(S)                                                                                  \
  template ChannelMoments plane_moments(const S*, const PlaneShape&);                                             \
  template void normalise_planes(const S*, const PlaneShape&, const NormCoefficients<Compute<S>>&, const S*, S*); \
  template GradientSums plane_gradient_sums(const S*, const S*, const PlaneShape&,                                \
                                            const NormCoefficients<Compute<S>>&);                                 \
  template void plane_input_gradient(const S*, const S*, const PlaneShape&, const NormCoefficients<Compute<S>>&,  \
                                     const NormGradient<Compute<S>>&, S*)
// NOLINTEND(bugprone-macro-parentheses)
MULTICARD_INSTANTIATE(float);
MULTICARD_INSTANTIATE(double);
MULTICARD_INSTANTIATE(Bfloat16);
MULTICARD_INSTANTIATE(Float16);
#undef MULTICARD_INSTANTIATE

}  // namespace multicard
