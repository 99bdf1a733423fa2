#pragma once
/// \file Batch normalisation over all replicas with ATen operations, for any dtype; GPUs have GatheredNorm.hpp.

#include "nn/vision/BatchNormAct.hpp"

namespace multicard {

/// batch_norm_act() while context.uses_batch() with a reducer. `residual` may be undefined. Collective, in backward
/// too.
at::Tensor synchronised_norm(const at::Tensor& x, const NormTensors& norm, const NormContext& context,
                             Activation activation, const at::Tensor& residual);

}  // namespace multicard
