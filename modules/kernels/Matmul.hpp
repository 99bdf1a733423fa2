#pragma once
/// \file Matrix products by the fastest library of the device.

#include <ATen/core/Tensor.h>

#include "kernels/cpu/Gemm.hpp"

namespace multicard {

/// The type to compute matmuls of `dtype` in on a device: its own, or float32 on a CPU whose matmuls of 16-bit types
/// are slower than float32 ones. Sums are float32 either way; only the rounding of operands that were float32 already
/// is left out.
at::ScalarType matmul_dtype(at::ScalarType dtype, at::Device device);

/// a [m, k] times b [k, n] without gradients. Either may be a transposed view. `library` matters for float32 on a CPU.
at::Tensor fast_matmul(const at::Tensor& a, const at::Tensor& b, GemmLibrary library = gemm_library());

/// target = a b, in place where the library of the device can write there.
void matmul_into(at::Tensor target, const at::Tensor& a, const at::Tensor& b);
/// target += a b.
void add_matmul(const at::Tensor& target, const at::Tensor& a, const at::Tensor& b);

}  // namespace multicard
