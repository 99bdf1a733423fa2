#pragma once
// As much of the CUDA runtime as the kernels of modules/ and their launches name, executed by the CPU: a launch runs
// its blocks one after the other and returns when they are done.

#include <cstddef>
#include <tuple>
#include <utility>

#include "cuda_shim/Execution.hpp"

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned columns = 1, unsigned rows = 1, unsigned layers = 1) : x(columns), y(rows), z(layers) {}
};

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidConfiguration = 9 };

using cudaStream_t = struct CUstream_st*;

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  namespace shim = multicard::cuda_shim;
  const std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  const shim::Shape grid{config->gridDim.x, config->gridDim.y, config->gridDim.z};
  const shim::Shape block{config->blockDim.x, config->blockDim.y, config->blockDim.z};
  if (!shim::can_launch(grid, block)) return cudaErrorInvalidConfiguration;
  shim::launch(grid, block, [&] { std::apply(kernel, values); });
  return cudaSuccess;
}
