#pragma once
/// \file Fake quantisation of linear layers as torchao's 8da4w does it (Int8DynActInt4WeightQATQuantizer, version
/// 0.18): values are rounded to those that int8 activations and int4 weights can have, and gradients pass straight
/// through.
///
/// A code is clamp(round(x * (1 / scale)) + zero), with ties to even, and stands for (code - zero) * scale. Scales are
/// computed and multiplied with in float32 (float64 for that type). The gradient of x is (dy * scale) * (1 / scale),
/// but 0 where clamping acts; scales and zeros count as constants. CPUs and GPUs give the same bits.

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/FakeQuantValues.hpp"

namespace multicard {

/// The weight [out, in], contiguous, as int4 stands for it, in `dtype`: groups of `group_size` values along `in`, which
/// divides it, have scale = max(max|w| / 7.5, 2^-126), zero = 0 and codes from -8 to 7.
at::Tensor fake_int4(const at::Tensor& weight, std::int64_t group_size, at::ScalarType dtype);
/// Makes `gradient`, that of fake_int4(), the gradient of the weight; both contiguous and of the weight's type.
void fake_int4_gradient(const at::Tensor& weight, std::int64_t group_size, const at::Tensor& gradient);

/// Activations [tokens, size], contiguous, as int8 stands for them: with low = min(0, min x) and high = max(0, max x)
/// of a token, scale = max((high - low) / 255, 2^-23), zero = clamp(-128 - round(low / scale)) and codes from -128 to
/// 127.
at::Tensor fake_int8(const at::Tensor& x);
/// Makes `gradient`, that of fake_int8(), the gradient of x; both contiguous and of x's type.
void fake_int8_gradient(const at::Tensor& x, const at::Tensor& gradient);

}  // namespace multicard
