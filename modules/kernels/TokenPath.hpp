#pragma once
/// \file Whose kernels compute norms, SwiGLU, RoPE and the loss of tokens.

#include "kernels/Kernels.hpp"
#include "kernels/cuda/CudaTokens.hpp"

namespace multicard {

/// ATen's operations, or the project's kernels of one kind of device.
enum class TokenPath { aten, cpu, cuda };

inline TokenPath token_path(const at::Tensor& x, Kernels kernels) {
  if (kernels == Kernels::aten) return TokenPath::aten;
  if (x.is_cpu()) return TokenPath::cpu;
  return has_cuda_token_kernels(x) ? TokenPath::cuda : TokenPath::aten;
}

}  // namespace multicard
