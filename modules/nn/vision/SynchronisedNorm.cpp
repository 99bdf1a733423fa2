#include "nn/vision/SynchronisedNorm.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/OperatorScope.hpp"
#include "kernels/SavedPointer.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor per_channel(const at::Tensor& values_C, at::ScalarType dtype) {
  return values_C.to(dtype).view({1, -1, 1, 1});
}

at::ScalarType arithmetic_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor sum_over_rows(const at::Tensor& x) {
  return x.sum({0, 2, 3}, /*keepdim=*/false, at::kDouble);
}

struct BatchMoments {
  at::Tensor count, mean, variance;  // float64; count 0-dimensional, variance biased
};

// Count, sum and sum of squares in one all-reduce, in float64: E[x^2] - E[x]^2 cancels, and float32 would not have the
// digits. Replicas may have different numbers of values, so that the counts are summed too.
BatchMoments reduced_moments(const at::Tensor& x, StatisticsReducer& reducer) {
  const std::int64_t num_channels = x.size(1);
  const at::Tensor wide = x.to(at::kDouble);
  const std::int64_t values_per_channel = x.numel() / std::max<std::int64_t>(1, num_channels);
  const at::Tensor count = at::full({1}, static_cast<double>(values_per_channel), wide.options());
  at::Tensor flat = at::cat({count, sum_over_rows(wide), sum_over_rows(wide * wide)});
  reducer.all_reduce(flat);
  const at::Tensor total = flat.narrow(0, 0, 1).clamp_min(1.0).squeeze(0);
  const at::Tensor mean = flat.narrow(0, 1, num_channels) / total;
  const at::Tensor variance = flat.narrow(0, 1 + num_channels, num_channels) / total - mean * mean;
  return {flat.narrow(0, 0, 1).squeeze(0), mean, variance.clamp_min(0.0)};
}

// As torch: running = 0.9 running + 0.1 new, the variance unbiased by n / (n - 1). Without branches on the host, which
// would wait for a device: where there are fewer than two values everything stays.
void track(const NormTensors& norm, const BatchMoments& moments) {
  const at::Tensor enough = moments.count > 1.5;
  const at::Tensor unbiased = moments.variance * moments.count / (moments.count - 1.0).clamp_min(1.0);
  const auto move = [&](const at::Tensor& running, const at::Tensor& value) {
    const at::Tensor moved = running * (1.0 - kNormMomentum) + kNormMomentum * value.to(running.scalar_type());
    at::Tensor(running).copy_(at::where(enough, moved, running));
  };
  move(norm.running_mean, moments.mean);
  move(norm.running_var, unbiased);
  at::Tensor(norm.num_batches_tracked).add_(enough.to(at::kLong));
}

// z = xhat * weight + bias before the activation; backward recomputes it from x instead of keeping it.
struct Normalised {
  at::Tensor xhat, z;
};

Normalised normalised(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& inverse_deviation,
                      const at::Tensor& weight, const at::Tensor& bias) {
  const at::ScalarType dtype = arithmetic_dtype(x);
  const at::Tensor xhat = (x.to(dtype) - per_channel(mean, dtype)) * per_channel(inverse_deviation, dtype);
  return {xhat, xhat * per_channel(weight, dtype) + per_channel(bias, dtype)};
}

class SynchronisedNorm : public torch::autograd::Function<SynchronisedNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const NormTensors& norm, StatisticsReducer* reducer,
                            Activation activation) {
    const OperatorScope scope("multicard::synchronised_norm");
    const BatchMoments moments = reduced_moments(x, *reducer);
    track(norm, moments);
    const at::Tensor inverse_deviation = (moments.variance + kNormEpsilon).rsqrt();
    const Normalised result = normalised(x, moments.mean, inverse_deviation, weight, bias);
    context->save_for_backward({x, weight, bias, moments.count, moments.mean, inverse_deviation});
    context->saved_data["activation"] = static_cast<std::int64_t>(activation);
    context->saved_data["reducer"] = saved_value(reducer);
    const at::Tensor y = activation == Activation::relu6 ? result.z.clamp(0.0, 6.0) : result.z;
    return y.to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &count = saved[3], &inverse_deviation = saved[5];
    const at::ScalarType dtype = arithmetic_dtype(x);
    const Normalised result = normalised(x, saved[4], inverse_deviation, weight, saved[2]);
    at::Tensor dz = gradients[0].to(dtype);
    if (static_cast<Activation>(context->saved_data["activation"].toInt()) == Activation::relu6)
      dz = dz * ((result.z > 0) & (result.z < 6)).to(dtype);

    const at::Tensor dbias = sum_over_rows(dz), dweight = sum_over_rows(dz * result.xhat);
    at::Tensor flat = at::cat({dbias, dweight});
    saved_pointer<StatisticsReducer>(context->saved_data["reducer"])->all_reduce(flat);
    const at::Tensor means = flat / count.clamp_min(1.0);
    // dx = w / sigma (dz - mean(dz) - xhat mean(dz xhat)), with the means over all replicas' values. The gradients of
    // weight and bias stay this replica's own: they are summed later with all others.
    const at::Tensor centred = dz - per_channel(means.narrow(0, 0, weight.numel()), dtype) -
                               result.xhat * per_channel(means.narrow(0, weight.numel(), weight.numel()), dtype);
    const at::Tensor dx = centred * per_channel(inverse_deviation * weight.to(at::kDouble), dtype);
    return {dx.to(x.scalar_type()), dweight.to(weight.scalar_type()), dbias.to(weight.scalar_type()), {}, {}, {}};
  }
};

}  // namespace

at::Tensor synchronised_norm(const at::Tensor& x, const NormTensors& norm, const NormContext& context,
                             Activation activation, const at::Tensor& residual) {
  const at::Tensor y = SynchronisedNorm::apply(x, norm.weight, norm.bias, norm, context.reducer, activation);
  return residual.defined() ? y + residual : y;
}

}  // namespace multicard
