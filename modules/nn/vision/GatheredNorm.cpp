#include "nn/vision/GatheredNorm.hpp"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm_backward_elemt.h>
#include <ATen/ops/batch_norm_backward_reduce.h>
#include <ATen/ops/batch_norm_elemt.h>
#include <ATen/ops/batch_norm_gather_stats_with_counts.h>
#include <ATen/ops/batch_norm_stats.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/OperatorScope.hpp"
#include "kernels/SavedPointer.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What all replicas know of their batches, each [replicas, channels] but the last.
struct ReplicaStatistics {
  at::Tensor mean, inverse_deviation;
  at::Tensor count;  ///< [replicas], values a channel
};

/// The count of a replica without rows: LibTorch divides by the sum of the counts so far, which must not be zero, and
/// adds them as integers, where this one is.
constexpr double kNoValues = 1e-30;

/// Every replica writes its place among zeros, so that the sum is what all have written.
/// Mean and deviation of each replica are gathered, not summed: combining them by counts does not cancel as E[x^2] -
/// E[x]^2 does in float32.
ReplicaStatistics gathered(const at::Tensor& x, std::int64_t count, const NormTensors& norm,
                           StatisticsReducer& reducer) {
  const std::int64_t channels = x.size(1), width = 2 * channels + 1;
  at::Tensor flat = at::zeros({reducer.num_replicas() * width}, norm.running_mean.options());
  const at::Tensor own = flat.narrow(0, reducer.replica() * width, width);
  if (count > 0) {
    const auto [mean, inverse_deviation] = at::batch_norm_stats(x, kNormEpsilon);
    at::Tensor both = own.narrow(0, 0, 2 * channels);
    at::cat_out(both, {mean, inverse_deviation});
  } else {
    own.narrow(0, channels, channels).fill_(1);
  }
  own.narrow(0, 2 * channels, 1).fill_(std::max(static_cast<double>(count), kNoValues));
  reducer.all_reduce(flat);
  const at::Tensor all = flat.view({reducer.num_replicas(), width});
  return {all.narrow(1, 0, channels), all.narrow(1, channels, channels), all.select(1, 2 * channels)};
}

class GatheredNorm : public torch::autograd::Function<GatheredNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias, const NormTensors& norm, StatisticsReducer* reducer) {
    const OperatorScope scope("multicard::gathered_norm");
    const at::Tensor x = input.contiguous(input.suggest_memory_format());
    const std::int64_t count = x.numel() / std::max<std::int64_t>(1, x.size(1));
    const ReplicaStatistics all = gathered(x, count, norm, *reducer);
    // item() waits for the device; with two values here it is not called.
    const bool tracks = count > 1 || all.count.sum().item<double>() > 1.5;
    if (tracks) norm.count_batch();
    // The first argument gives the type of the counts.
    const auto [mean, inverse_deviation] = at::batch_norm_gather_stats_with_counts(
        all.mean, all.mean, all.inverse_deviation, tracks ? norm.running_mean : at::Tensor(),
        tracks ? norm.running_var : at::Tensor(), kNormMomentum, kNormEpsilon, all.count);
    context->save_for_backward({x, weight, mean, inverse_deviation, all.count.to(at::kInt)});
    context->saved_data["reducer"] = saved_value(reducer);
    if (count == 0) return at::empty_like(x);
    return at::batch_norm_elemt(x, weight, bias, mean, inverse_deviation, kNormEpsilon);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse_deviation = saved[3];
    auto& reducer = *saved_pointer<StatisticsReducer>(context->saved_data["reducer"]);
    const std::int64_t channels = weight.numel();
    // Replicas without rows take part in the sum, which the others wait for, and in the same order of layers.
    if (x.numel() == 0) {
      at::Tensor nothing = at::zeros({2 * channels}, mean.options());
      reducer.all_reduce(nothing);
      return {at::empty_like(x), at::zeros_like(weight), at::zeros_like(weight), {}, {}};
    }
    const at::Tensor dy = gradients[0].contiguous(x.suggest_memory_format());
    // Sums of dy and of dy (x - mean).
    const auto [sum_dy, sum_dy_x, dweight, dbias] =
        at::batch_norm_backward_reduce(dy, x, mean, inverse_deviation, weight, true, true, true);
    at::Tensor sums = at::cat({sum_dy, sum_dy_x});
    reducer.all_reduce(sums);
    const at::Tensor dx =
        at::batch_norm_backward_elemt(dy, x, mean, inverse_deviation, weight, sums.narrow(0, 0, channels),
                                      sums.narrow(0, channels, channels), saved[4]);
    return {dx, dweight, dbias, {}, {}};
  }
};

}  // namespace

at::Tensor gathered_norm(const at::Tensor& x, const NormTensors& norm, StatisticsReducer& reducer) {
  return GatheredNorm::apply(x, norm.weight, norm.bias, norm, &reducer);
}

}  // namespace multicard
