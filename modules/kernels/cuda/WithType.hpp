#pragma once
/// \file Launches for tensors of any type that the project's GPU kernels take. For *_cuda.cpp files alone.

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace multicard {

inline bool is_type_of_kernels(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16;
}

/// Calls body.operator()<S>(stream) with the type of x, on its device, and throws what a launch returns.
/// \pre is_type_of_kernels(x.scalar_type())
template <typename Body>
void with_type(const at::Tensor& x, const Body& body) {
  const c10::cuda::CUDAGuard guard(x.device());
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(x.device().index());
  if (x.scalar_type() == at::kHalf)
    C10_CUDA_CHECK(body.template operator()<c10::Half>(stream));
  else if (x.scalar_type() == at::kBFloat16)
    C10_CUDA_CHECK(body.template operator()<c10::BFloat16>(stream));
  else
    C10_CUDA_CHECK(body.template operator()<float>(stream));
}

}  // namespace multicard
