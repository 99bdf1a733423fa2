#pragma once
/// \file The launches of the GPU kernels over rows of tokens; for the GPU backends of nn only.
///
/// S is float, c10::Half or c10::BFloat16; matrices are [rows, size], row-major, without gaps, on the device of
/// `stream`.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "kernels/cuda/NormRows.hpp"
#include "kernels/cuda/TokenRows.hpp"

namespace multicard::rows {

/// The pointers of `first` are those of the first row, its scale that of the row. P is float or S.
template <typename S, typename P>
cudaError_t launch_add_norm(const NormRow<S, P>& first, std::int64_t num_rows, cudaStream_t stream);

/// `scale` is [rows]; first.scale is not read.
template <typename S, typename P>
cudaError_t launch_norm_gradient(const NormGradientRow<S, P>& first, const float* scale, std::int64_t num_rows,
                                 cudaStream_t stream);

/// Rows that are summed by themselves: `partial` of the next is [ceil(rows / these), size].
constexpr std::int64_t kRowsOfPart = 128;

template <typename S>
cudaError_t launch_norm_weight_gradient(const S* dnormed, const S* stream_values, const float* scale,
                                        std::int64_t num_rows, std::int64_t size, float* partial, cudaStream_t stream);

template <typename S>
cudaError_t launch_swiglu(const S* gate_and_up, std::int64_t num_rows, std::int64_t size, S* y, cudaStream_t stream);

template <typename S>
cudaError_t launch_swiglu_gradient(const S* dy, const S* gate_and_up, std::int64_t num_rows, std::int64_t size,
                                   S* dgate_and_up, cudaStream_t stream);

/// Rows begin `row_stride` values apart; cos and sin are [rows, dim / 2].
template <typename S>
cudaError_t launch_rope(S* x, std::int64_t num_rows, std::int64_t row_stride, std::int64_t heads, std::int64_t dim,
                        const float* cos, const float* sin, float direction, cudaStream_t stream);

/// losses [rows]; with Softmax::gradient the logits become the gradient of each row's loss.
template <typename S>
cudaError_t launch_softmax_loss(S* logits, const std::int64_t* targets, std::int64_t num_rows, std::int64_t size,
                                Softmax softmax, float* losses, cudaStream_t stream);

template <typename S>
cudaError_t launch_dropout(const Dropout& dropout, const S* x, std::int64_t size, S* y, cudaStream_t stream);

}  // namespace multicard::rows
