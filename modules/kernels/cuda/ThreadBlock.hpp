#pragma once
/// \file Groups of threads of a GPU, and launches of kernels that give each of them a row. For CUDA sources alone.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include <cuda_runtime_api.h>

#include "kernels/cuda/RowPacks.hpp"

namespace multicard::rows {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFFU;
constexpr std::int64_t kMostBlocks = 1 << 16;  // each goes over several rows where there are more

__device__ __forceinline__ float from_lane(float value, int mask) {
  return __shfl_xor_sync(kAllLanes, value, mask);
}

/// from_lane() of T is found in its namespace.
template <typename T, typename Combine>
__device__ __forceinline__ T reduced_in_warp(T value, Combine combine) {
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2)
    value = combine(value, from_lane(value, mask));
  return value;
}

/// The threads of a warp.
class Warp {
 public:
  __device__ int lane() const { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ int size() const { return kWarp; }

  template <typename T, typename Combine>
  __device__ T reduce(T value, Combine combine) const {
    return reduced_in_warp(value, combine);
  }
};

/// The threads of a block, whole warps.
class ThreadBlock {
 public:
  __device__ int lane() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }

  template <typename T, typename Combine>
  __device__ T reduce(T value, Combine combine) const {
    __shared__ T of_warps[kWarp];
    value = reduced_in_warp(value, combine);
    const int warp = lane() / kWarp, num_warps = size() / kWarp;
    __syncthreads();  // pending readers of the last result
    if (lane() % kWarp == 0) of_warps[warp] = value;
    __syncthreads();
    T all = of_warps[0];
    for (int i = 1; i < num_warps; ++i)
      all = combine(all, of_warps[i]);
    return all;
  }
};

/// Threads for rows of `size` values, each with some packs of its own; at most `most`.
template <int kWidth>
unsigned threads_for(std::int64_t size, std::int64_t most) {
  constexpr std::int64_t kPacksOfThread = 2;
  const std::int64_t wanted = (size / kWidth + kPacksOfThread - 1) / kPacksOfThread;
  return static_cast<unsigned>(std::clamp<std::int64_t>((wanted + kWarp - 1) / kWarp * kWarp, kWarp, most));
}

inline unsigned blocks_for(std::int64_t num_rows) {
  return static_cast<unsigned>(std::min(num_rows, kMostBlocks));
}

inline bool are_aligned(std::initializer_list<const void*> pointers) {
  return std::all_of(pointers.begin(), pointers.end(),
                     [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % kAlignment == 0; });
}

/// Calls body(width), a constant, with 16 bytes of S where sizes and pointers allow it, else with single values.
template <typename S, typename Body>
cudaError_t with_width(std::int64_t size, std::initializer_list<const void*> pointers, const Body& body) {
  constexpr int kFull = kAlignment / sizeof(S);
  if (size % kFull == 0 && are_aligned(pointers)) return body(std::integral_constant<int, kFull>());
  return body(std::integral_constant<int, 1>());
}

/// Queues a kernel. A function of the runtime and not <<<>>>, so that a C++ compiler can read this file too.
template <typename... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), dim3 blocks, unsigned threads, cudaStream_t stream,
                   std::common_type_t<Parameters>... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace multicard::rows
