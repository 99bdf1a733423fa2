#pragma once
/// \file Batch normalisation over all replicas by the operations that LibTorch has for GPUs alone, those of its
/// SyncBatchNorm: each reads the activations once, in their own type.

#include "nn/vision/BatchNormAct.hpp"

namespace multicard {

/// batch_norm_act() without activation over the batches of all replicas of `reducer`. Collective, in backward too. It
/// asks the device only where this replica has fewer than two values a channel: then the others' decide whether running
/// statistics move.
at::Tensor gathered_norm(const at::Tensor& x, const NormTensors& norm, StatisticsReducer& reducer);

}  // namespace multicard
