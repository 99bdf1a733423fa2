#pragma once
/// \file Launches of the kernels over rows of FakeQuantRows.hpp. S is float, c10::Half or c10::BFloat16; matrices are
/// row-major without gaps.

#include <cstdint>

#include <cuda_runtime_api.h>

namespace multicard::rows {

/// Weights in groups of `size`.
/// @{
template <typename S>
cudaError_t launch_fake_int4(const S* weights, std::int64_t groups, std::int64_t size, S* y, cudaStream_t stream);
template <typename S>
cudaError_t launch_fake_int4_gradient(const S* weights, std::int64_t groups, std::int64_t size, S* gradient,
                                      cudaStream_t stream);
/// @}

/// Activations of `size` a token.
/// @{
template <typename S>
cudaError_t launch_fake_int8(const S* x, std::int64_t tokens, std::int64_t size, S* y, cudaStream_t stream);
template <typename S>
cudaError_t launch_fake_int8_gradient(const S* x, std::int64_t tokens, std::int64_t size, S* gradient,
                                      cudaStream_t stream);
/// @}

}  // namespace multicard::rows
