#include "nn/vision/BatchNormAct.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/silu.h>

#include "kernels/cpu/CpuNorm.hpp"
#include "nn/vision/GatheredNorm.hpp"
#include "nn/vision/SynchronisedNorm.hpp"

namespace multicard {
namespace {

// A replica without rows still needs a graph to weight and bias: their gradients are zero, and not missing, in the sum
// over ranks.
at::Tensor affine_of_nothing(const at::Tensor& x, const NormTensors& norm) {
  const at::Tensor y = x * norm.weight.view({1, -1, 1, 1}) + norm.bias.view({1, -1, 1, 1});
  return y.to(x.scalar_type());
}

at::Tensor plain_norm(const at::Tensor& x, const NormTensors& norm, const NormContext& context) {
  if (x.numel() == 0) return affine_of_nothing(x, norm);
  const bool uses_batch = context.uses_batch();
  // The running variance is unbiased, n / (n - 1): of one value it does not exist.
  const bool tracks = uses_batch && x.numel() / x.size(1) > 1;
  if (tracks) norm.count_batch();
  const bool has_running = tracks || !uses_batch;
  return at::batch_norm(x, norm.weight, norm.bias, has_running ? norm.running_mean : at::Tensor(),
                        has_running ? norm.running_var : at::Tensor(), uses_batch, kNormMomentum, kNormEpsilon,
                        /*cudnn_enabled=*/true);
}

// What follows the sum with the residual, or what the normalisations do not fuse.
at::Tensor activated(const at::Tensor& z, Activation activation) {
  switch (activation) {
    case Activation::none:
      return z;
    case Activation::relu:
      return z.relu_();  // a fresh result that no backward needs
    case Activation::relu6:
      return at::hardtanh(z, 0.0, 6.0);
    case Activation::silu:
      return at::silu(z);
  }
  return z;
}

// `activation` is none or, without residual, relu6.
// In the order of preference: kernels for CPUs, which know the synchronised case too; ATen's synchronised norm for
// other tensors on CPUs; LibTorch's operations.
at::Tensor fused(const at::Tensor& x, const NormTensors& norm, const NormContext& context, Activation activation,
                 const at::Tensor& residual) {
  if (can_use_cpu_norm(x, norm, context)) return cpu_norm(x, norm, context, activation, residual);
  const bool synchronises = context.uses_batch() && context.reducer != nullptr;
  if (synchronises && !x.is_cuda()) return synchronised_norm(x, norm, context, activation, residual);
  const at::Tensor z = synchronises ? gathered_norm(x, norm, *context.reducer) : plain_norm(x, norm, context);
  const at::Tensor y = activated(z, activation);
  return residual.defined() ? y + residual : y;
}

}  // namespace

at::Tensor batch_norm_act(const at::Tensor& x, const NormTensors& norm, const NormContext& context,
                          Activation activation) {
  if (activation == Activation::relu6) return fused(x, norm, context, activation, {});
  return activated(fused(x, norm, context, Activation::none, {}), activation);
}

at::Tensor batch_norm_add(const at::Tensor& x, const NormTensors& norm, const NormContext& context,
                          const at::Tensor& residual, Activation activation) {
  return activated(fused(x, norm, context, Activation::none, residual), activation);
}

}  // namespace multicard
