#pragma once
/// \file Norms, SwiGLU, RoPE, softmax and dropout of tokens, each in one launch on a GPU.

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Whether the functions below can compute on tensors like `x`: on a GPU, in float32, float16 or bfloat16, by a program
/// that was built with nvcc. They take contiguous tensors and queue on the current stream.
bool has_cuda_token_kernels(const at::Tensor& x);

struct CudaNormed {
  at::Tensor stream, normed;
  at::Tensor scale;  ///< float32 [rows, 1]: 1 / sqrt(mean(stream^2) + epsilon)
};

/// As add_rms_norm(); `delta` may be undefined.
CudaNormed cuda_add_norm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double epsilon);
/// The gradient of the stream through `normed`, plus `dstream` (may be undefined).
at::Tensor cuda_norm_gradient(const at::Tensor& dnormed, const at::Tensor& dstream, const at::Tensor& stream,
                              const at::Tensor& weight, const at::Tensor& scale);
/// The gradient of the weight, float32.
at::Tensor cuda_norm_weight_gradient(const at::Tensor& dnormed, const at::Tensor& stream, const at::Tensor& scale);

/// As swiglu().
at::Tensor cuda_swiglu(const at::Tensor& gate_and_up);
at::Tensor cuda_swiglu_gradient(const at::Tensor& dy, const at::Tensor& gate_and_up);

/// As rotate() with x, a view whose heads lie side by side: forward for direction 1, inverse for -1; cos and sin are
/// float32 [tokens, head_dim / 2].
void cuda_rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, double direction);

/// Whether logits become the gradient of each row's loss.
enum class LogitGradient { none, in_place };
/// Cross-entropy of each row of `logits` with the target of `tokens` int64 [rows]: float32 [rows].
at::Tensor cuda_softmax_loss(const at::Tensor& logits, const at::Tensor& tokens, LogitGradient gradient);

/// x with the values zeroed whose 31 bits, a function of `key` and the index, are below `threshold`, and the others
/// multiplied by `factor`. As seeded_dropout() of nn/layers/Random.hpp, which calls it.
at::Tensor cuda_dropout(const at::Tensor& x, std::uint64_t key, std::uint64_t threshold, double factor);

}  // namespace multicard
