#pragma once
/// \file Fake quantisation by ATen's operations, on devices and for types without kernels for it: the same bits.

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace multicard {

/// As the functions of kernels/FakeQuant.hpp, but in the type of their argument.
/// @{
at::Tensor aten_fake_int4(const at::Tensor& weight, std::int64_t group_size);
void aten_fake_int4_gradient(const at::Tensor& weight, std::int64_t group_size, const at::Tensor& gradient);
at::Tensor aten_fake_int8(const at::Tensor& x);
void aten_fake_int8_gradient(const at::Tensor& x, const at::Tensor& gradient);
/// @}

}  // namespace multicard
