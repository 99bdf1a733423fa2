#pragma once
/// \file The steps of kernels/Adamw.hpp by ATen's operations, for devices and types without kernels of the project's
/// own: the same to rounding.

#include "kernels/Adamw.hpp"

namespace multicard {

enum class Moment { first, second };
/// The moments in float32, in memory of their own.
at::Tensor decoded(const Moments& moments, Moment moment);

void aten_adamw_step(const AdamwTensor& tensor, const AdamwStep& step);

}  // namespace multicard
