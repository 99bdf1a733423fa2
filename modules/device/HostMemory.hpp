#pragma once
/// \file Host memory that a device copies to by itself.

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Bytes in host memory, uint8 [num_bytes], touched so that the first copy is as fast as the others. For copies from a
/// CUDA device they are page-locked, and as many as asked for: LibTorch's own allocator rounds up to a power of two.
/// Throws EnvironmentError when the system does not give them.
at::Tensor make_host_memory(std::int64_t num_bytes, at::Device device);

}  // namespace multicard
