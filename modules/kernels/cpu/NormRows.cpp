#include "kernels/cpu/NormRows.hpp"

#include "kernels/cpu/Partition.hpp"

namespace multicard {
namespace {

constexpr std::int64_t kSmallestPart = 256;

template <typename S>
std::int64_t row_bytes(std::int64_t channels) {
  return 2 * channels * static_cast<std::int64_t>(sizeof(S));
}

}  // namespace

template <typename S>
void join_block(const S* x, std::int64_t rows, std::int64_t channels, ChannelMoments* moments) {
  if (!moments || rows == 0) return;
  ChannelMoments block(channels);
  row_kernels<S>().moments(x, rows, channels, block.mean.data(), block.deviation_squares.data());
  block.count = static_cast<double>(rows);
  moments->join(block);
}

template <typename S>
ChannelMoments channel_moments(const S* x, std::int64_t rows, std::int64_t channels) {
  // Sums in three layers: float32 over the few hundred rows of a block, about its first row; double over the blocks of
  // a part; and over the parts in their order. The error does not grow with the number of rows.
  const Partition partition(rows, kSmallestPart);
  std::vector<ChannelMoments> parts(partition.num_parts(), ChannelMoments(channels));
  partition.for_each([&](std::int64_t part, std::int64_t first, std::int64_t end) {
    for_blocks(first, end, row_bytes<S>(channels), [&](std::int64_t row, std::int64_t count) {
      join_block(x + row * channels, count, channels, &parts[part]);
    });
  });
  ChannelMoments all(channels);
  for (const ChannelMoments& part : parts)
    all.join(part);
  return all;
}

template <typename S>
void normalise_rows(const S* x, std::int64_t rows, const NormCoefficients<Compute<S>>& norm, const S* residual, S* y) {
  const auto channels = static_cast<std::int64_t>(norm.scale.size());
  Partition(rows, kSmallestPart).for_each([&](std::int64_t, std::int64_t first, std::int64_t end) {
    const std::int64_t start = first * channels;
    row_kernels<S>().normalise(x + start, end - first, channels, norm.view(), residual ? residual + start : nullptr,
                               y + start);
  });
}

template <typename S>
GradientSums norm_gradient_sums(const S* dy, const S* x, std::int64_t rows, const NormCoefficients<Compute<S>>& norm) {
  const auto channels = static_cast<std::int64_t>(norm.scale.size());
  const Partition partition(rows, kSmallestPart);
  std::vector<GradientSums> parts(partition.num_parts(), GradientSums(channels));
  partition.for_each([&](std::int64_t part, std::int64_t first, std::int64_t end) {
    GradientSums& sums = parts[part];
    for_blocks(first, end, row_bytes<S>(channels), [&](std::int64_t row, std::int64_t count) {
      row_kernels<S>().gradient_sums(dy + row * channels, x + row * channels, count, channels, norm.view(),
                                     sums.g.data(), sums.g_deviation.data(), nullptr);
    });
  });
  GradientSums all(channels);
  for (const GradientSums& part : parts)
    all.add(part);
  return all;
}

template <typename S>
void norm_input_gradient(const S* dy, const S* x, std::int64_t rows, const NormCoefficients<Compute<S>>& norm,
                         const NormGradient<Compute<S>>& gradient, S* dx) {
  const auto channels = static_cast<std::int64_t>(norm.scale.size());
  Partition(rows, kSmallestPart).for_each([&](std::int64_t, std::int64_t first, std::int64_t end) {
    const std::int64_t start = first * channels;
    row_kernels<S>().input_gradient(dy + start, x + start, end - first, channels, norm.view(), gradient.view(),
                                    dx + start);
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): S is a type
#define MULTICARD_INSTANTIATE(S)                                                                                   \
  template void join_block(const S*, std::int64_t, std::int64_t, ChannelMoments*);                                 \
  template ChannelMoments channel_moments(const S*, std::int64_t, std::int64_t);                                   \
  template void normalise_rows(const S*, std::int64_t, const NormCoefficients<Compute<S>>&, const S*, S*);         \
  template GradientSums norm_gradient_sums(const S*, const S*, std::int64_t, const NormCoefficients<Compute<S>>&); \
  template void norm_input_gradient(const S*, const S*, std::int64_t, const NormCoefficients<Compute<S>>&,         \
                                    const NormGradient<Compute<S>>&, S*)
// NOLINTEND(bugprone-macro-parentheses)
MULTICARD_INSTANTIATE(float);
MULTICARD_INSTANTIATE(double);
MULTICARD_INSTANTIATE(Bfloat16);
MULTICARD_INSTANTIATE(Float16);
#undef MULTICARD_INSTANTIATE

}  // namespace multicard
