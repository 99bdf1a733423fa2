#pragma once
/// \file Batch normalisation over N, H and W with the activation or the residual that follows it.

#include <ATen/core/Tensor.h>

#include "kernels/Activation.hpp"
#include "kernels/NormContext.hpp"

namespace multicard {

/// act((x - mean) / sqrt(var + 1e-5) * weight + bias), of x [N, C, H, W] in either memory format, float64, float32 or
/// lower (then with float32 tensors in `norm`). Ioffe and Szegedy 2015, arXiv 1502.03167.
///
/// While context.uses_batch(), mean and biased variance come from the batch (from the batches of all replicas when
/// there is a reducer; then this is collective, in backward too) and the running statistics move; statistics over fewer
/// than two values leave them alone. Rows may be zero: with a reducer the replica joins the sums and contributes
/// nothing.
at::Tensor batch_norm_act(const at::Tensor& x, const NormTensors& norm, const NormContext& context,
                          Activation activation);

/// act(batch_norm_act() without activation + `residual`), the latter of x's shape.
at::Tensor batch_norm_add(const at::Tensor& x, const NormTensors& norm, const NormContext& context,
                          const at::Tensor& residual, Activation activation = Activation::none);

}  // namespace multicard
