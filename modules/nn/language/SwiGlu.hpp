#pragma once
/// \file The gated unit between the linear layers of a Llama-type block (Shazeer 2020, arXiv 2002.05202).

#include <ATen/core/Tensor.h>

#include "kernels/Kernels.hpp"

namespace multicard {

/// silu(gate) * up, [tokens, size], of gate and up side by side [tokens, 2 size]; computed in float32 at least.
at::Tensor swiglu(const at::Tensor& gate_and_up, Kernels kernels = Kernels::automatic);

}  // namespace multicard
