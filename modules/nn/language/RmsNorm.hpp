#pragma once
/// \file Root-mean-square normalisation (Zhang and Sennrich 2019, arXiv 1910.07467) of the residual stream.

#include <ATen/core/Tensor.h>

#include "kernels/Kernels.hpp"

namespace multicard {

struct Normed {
  at::Tensor stream;  ///< x + delta
  at::Tensor normed;  ///< stream / sqrt(mean(stream^2) + epsilon) * weight
};

/// x and delta [tokens, size] of one type (delta may be undefined: then stream is x), weight [size] of any. Computed in
/// float32 at least, from the stream as it is rounded to its type.
Normed add_rms_norm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double epsilon,
                    Kernels kernels = Kernels::automatic);

}  // namespace multicard
