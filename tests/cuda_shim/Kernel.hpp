#pragma once
// Comes before a CUDA source that is compiled as C++: what nvcc knows without an include, in terms of Execution.hpp.

// LibTorch's headers and those of C++ are read as a CPU compiler reads them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <cuda_runtime_api.h>

#define __CUDACC__ 1
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ static  // one block runs at a time

inline const multicard::cuda_shim::Shape& threadIdx = multicard::cuda_shim::position().thread;
inline const multicard::cuda_shim::Shape& blockIdx = multicard::cuda_shim::position().block;
inline const multicard::cuda_shim::Shape& blockDim = multicard::cuda_shim::position().num_threads;
inline const multicard::cuda_shim::Shape& gridDim = multicard::cuda_shim::position().num_blocks;

inline void __syncthreads() {
  multicard::cuda_shim::wait_for_block();
}

inline float __shfl_xor_sync(unsigned lanes, float value, int mask) {
  return multicard::cuda_shim::exchange(lanes, value, mask);
}

// Rounded each by itself.
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}

inline void __stwb(uint4* to, uint4 value) {
  *to = value;
}
