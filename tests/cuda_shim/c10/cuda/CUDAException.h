#pragma once
#include <stdexcept>

#include <cuda_runtime_api.h>

inline void check_launch(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error("CUDA error: invalid configuration argument");
}

#define C10_CUDA_CHECK(expression) check_launch(expression)
