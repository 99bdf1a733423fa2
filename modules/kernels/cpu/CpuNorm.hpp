#pragma once
/// \file Batch normalisation with its activation or residual as one operation of the CPU path.

#include "kernels/Activation.hpp"
#include "kernels/NormContext.hpp"

namespace multicard {

/// Whether cpu_norm() can take this input: float32 or float64 on the CPU, as the layer's tensors, or
/// bfloat16 or float16 with float32 tensors.
bool can_use_cpu_norm(const at::Tensor& x, const NormTensors& norm, const NormContext& context);

/// batch_norm_act() or, with `residual` defined (then activation is none), batch_norm_add().
at::Tensor cpu_norm(const at::Tensor& x, const NormTensors& norm, const NormContext& context, Activation activation,
                    const at::Tensor& residual);

}  // namespace multicard
