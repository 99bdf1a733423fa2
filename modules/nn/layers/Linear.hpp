#pragma once
/// \file Fully connected layers.

#include <ATen/core/Tensor.h>

namespace multicard {

/// weight [out, in] or [out, in, 1, 1] (a 1x1 convolution of one pixel), bias [out].
struct Linear {
  at::Tensor weight, bias;

  /// [N, out] of x [N, in]. Under autocast as convolve().
  at::Tensor forward(const at::Tensor& x) const;
};

}  // namespace multicard
