#pragma once
/// \file Images between the two memory formats of the CPU path.

#include <ATen/core/Tensor.h>

namespace multicard {

/// The format of x [N, C, H, W]: channels_last if it is that without gaps, else contiguous.
at::MemoryFormat layout_of(const at::Tensor& x);

/// x of a type that has_cpu_kernels() in `layout` without gaps; x itself if it is that already. Autograd sees nothing
/// of it.
at::Tensor in_layout(const at::Tensor& x, at::MemoryFormat layout);

}  // namespace multicard
