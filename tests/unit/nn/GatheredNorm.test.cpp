// Synchronised batch normalisation as GPUs compute it. LibTorch has its operations for GPUs alone; here they are what
// its CUDA kernels compute (ATen/native/cuda/Normalization.cuh), in plain operations on the CPU.
#include "nn/vision/GatheredNorm.hpp"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "gathered_cases.hpp"

namespace multicard {
namespace {

using Pair = std::tuple<at::Tensor, at::Tensor>;

at::ScalarType accumulated(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor per_channel(const at::Tensor& values) {
  return values.view({1, -1, 1, 1});
}

Pair stats(const at::Tensor& x, double epsilon) {
  TORCH_CHECK(x.numel() > 0, "no values");
  const at::Tensor wide = x.to(accumulated(x)).transpose(0, 1).flatten(1);
  return {wide.mean(1), (wide.var(1, /*unbiased=*/false) + epsilon).rsqrt()};
}

// Line by line batch_norm_reduce_statistics_kernel, whose counter is an integer.
template <typename T>
void reduce_statistics(const at::Tensor& means, const at::Tensor& inverses, const at::Tensor& counts, T momentum,
                       T epsilon, const at::Tensor& running_mean, const at::Tensor& running_var, const at::Tensor& mean,
                       const at::Tensor& inverse) {
  for (std::int64_t i = 0; i < means.size(1); ++i) {
    T average = 0, var_n = 0;
    int n = 0;
    for (std::int64_t j = 0; j < means.size(0); ++j) {
      const T count = counts[j].item<T>(), m = means[j][i].item<T>();
      T v = T(1) / inverses[j][i].item<T>();
      v = (v * v - epsilon) * count;
      const T factor = T(1) / (static_cast<T>(n) + count), held = static_cast<T>(n);
      var_n += v + (average - m) * (average - m) * held * count * factor;
      average = held * factor * average + count * factor * m;
      n = static_cast<int>(held + count);
    }
    mean[i].fill_(average);
    inverse[i].fill_(T(1) / std::sqrt(var_n / static_cast<T>(n) + epsilon));
    if (!running_mean.defined()) continue;
    running_mean[i].fill_((1 - momentum) * running_mean[i].item<T>() + momentum * average);
    running_var[i].fill_((1 - momentum) * running_var[i].item<T>() + momentum * var_n / static_cast<T>(n - 1));
  }
}

Pair gather(const at::Tensor& input, const at::Tensor& means, const at::Tensor& inverses,
            const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_var,
            double momentum, double epsilon, const at::Tensor& counts) {
  const at::Tensor mean = at::empty({means.size(1)}, means.options()), inverse = at::empty_like(mean);
  const at::Tensor tracked = running_mean.value_or(at::Tensor()), variance = running_var.value_or(at::Tensor());
  TORCH_CHECK(counts.scalar_type() == (tracked.defined() ? tracked : input).scalar_type(), "type of the counts");
  if (means.scalar_type() == at::kDouble)
    reduce_statistics<double>(means, inverses, counts, momentum, epsilon, tracked, variance, mean, inverse);
  else
    reduce_statistics<float>(means, inverses, counts, static_cast<float>(momentum), static_cast<float>(epsilon),
                             tracked, variance, mean, inverse);
  return {mean, inverse};
}

at::Tensor elemt(const at::Tensor& x, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                 const at::Tensor& mean, const at::Tensor& inverse, double) {
  const at::Tensor normal = (x.to(accumulated(x)) - per_channel(mean)) * per_channel(inverse);
  return (normal * per_channel(*weight) + per_channel(*bias)).to(x.scalar_type());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward_reduce(const at::Tensor& dy, const at::Tensor& x,
                                                                           const at::Tensor& mean,
                                                                           const at::Tensor& inverse,
                                                                           const std::optional<at::Tensor>& weight,
                                                                           bool, bool, bool) {
  TORCH_CHECK(dy.strides() == x.strides() && dy.scalar_type() == x.scalar_type(), "layouts");
  const at::Tensor g = dy.to(accumulated(x)), centred = x.to(accumulated(x)) - per_channel(mean);
  const at::Tensor sum_dy = g.sum({0, 2, 3}), sum_dy_x = (g * centred).sum({0, 2, 3});
  return {sum_dy, sum_dy_x, (sum_dy_x * inverse).to(weight->scalar_type()), sum_dy.to(weight->scalar_type())};
}

at::Tensor backward_elemt(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& mean, const at::Tensor& inverse,
                          const std::optional<at::Tensor>& weight, const at::Tensor& sum_dy, const at::Tensor& sum_dy_x,
                          const at::Tensor& count) {
  TORCH_CHECK(count.scalar_type() == at::kInt, "type of the counts");
  const double share = 1.0 / static_cast<double>(count.sum().item<std::int64_t>());
  const at::Tensor g = dy.to(accumulated(x)), centred = x.to(accumulated(x)) - per_channel(mean);
  const at::Tensor slope = per_channel(inverse * inverse * sum_dy_x * share);
  return ((g - per_channel(sum_dy * share) - centred * slope) * per_channel(*weight * inverse)).to(x.scalar_type());
}

TORCH_LIBRARY_IMPL(aten, CPU, library) {
  library.impl("batch_norm_stats", stats);
  library.impl("batch_norm_gather_stats_with_counts", gather);
  library.impl("batch_norm_elemt", elemt);
  library.impl("batch_norm_backward_reduce", backward_reduce);
  library.impl("batch_norm_backward_elemt", backward_elemt);
}

class GatheredNorm : public testing::TestWithParam<test::GatheredCase> {};

TEST_P(GatheredNorm, IsTheNormOfTheWholeBatch) {
  test::expect_norm_of_whole_batch(GetParam(), at::kCPU);
}

INSTANTIATE_TEST_SUITE_P(Batches, GatheredNorm, testing::ValuesIn(test::kGatheredCases));

}  // namespace
}  // namespace multicard
