#pragma once
/// \file Dequantisation of 4-bit weights in one launch on a GPU; formulas in kernels/Nf4.hpp and kernels/Int4.hpp.

#include <span>

#include "kernels/Int4.hpp"
#include "kernels/Nf4.hpp"

namespace multicard {

/// Whether the functions below can fill such values: on a GPU, in float32, float16 or bfloat16, by a program that was
/// built with nvcc. They queue on the current stream.
bool has_cuda_quant(const at::Tensor& values);

/// As dequantise_nf4(). \pre there is one; all on one device
void cuda_dequantise_nf4(std::span<const Nf4Rows> rows);
/// As dequantise_int4().
void cuda_dequantise_int4(const Int4Matrix& matrix, std::int64_t first, const at::Tensor& values);

}  // namespace multicard
