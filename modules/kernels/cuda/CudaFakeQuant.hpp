#pragma once
/// \file Fake quantisation in one launch on a GPU; formulas in kernels/FakeQuant.hpp.

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Whether the functions below can compute on tensors like `x`: on a GPU, in float32, float16 or bfloat16, by a program
/// that was built with nvcc. They take contiguous tensors and queue on the current stream.
bool has_cuda_fake_quant(const at::Tensor& x);

/// As fake_int4(), in the weight's type.
at::Tensor cuda_fake_int4(const at::Tensor& weight, std::int64_t group_size);
void cuda_fake_int4_gradient(const at::Tensor& weight, std::int64_t group_size, const at::Tensor& gradient);
at::Tensor cuda_fake_int8(const at::Tensor& x);
void cuda_fake_int8_gradient(const at::Tensor& x, const at::Tensor& gradient);

}  // namespace multicard
