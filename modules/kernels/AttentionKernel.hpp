#pragma once
/// \file Ways to compute causal attention within sequences, from turned queries and keys.

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/SequencePlan.hpp"

namespace multicard {

/// Views [tokens, heads or kv heads, head_dim] of one memory or of several.
struct AttentionInputs {
  at::Tensor q, k, v;
};

/// What forward keeps for backward; which members are defined depends on the kernel.
struct AttentionSaved {
  at::Tensor out;  ///< [tokens, heads, head_dim]
  at::Tensor logsumexp, rng_state, rng_unused;
};

class AttentionKernel {
 public:
  virtual ~AttentionKernel() = default;
  virtual AttentionSaved forward(const AttentionInputs& inputs, const SequencePlan& plan,
                                 std::int64_t window) const = 0;
  /// Fills `gradients`, views like `inputs`, for the gradient `dout` of saved.out.
  virtual void backward(const at::Tensor& dout, const AttentionInputs& inputs, const AttentionSaved& saved,
                        const SequencePlan& plan, std::int64_t window, const AttentionInputs& gradients) const = 0;
};

/// One call of LibTorch's CPU kernel for each sequence.
const AttentionKernel& sequence_attention_cpu();
/// One call of the variable-length flash attention for all, on a GPU in float16 or bfloat16.
const AttentionKernel& packed_attention_cuda();
/// LibTorch's choice for each sequence; backward computes forward again. Works everywhere.
const AttentionKernel& sequence_attention_any();

/// The best that can compute these.
const AttentionKernel& attention_kernel(const AttentionInputs& inputs);

/// Whether LibTorch's flash attention computes heads of `head_dim` values of `dtype` on GPUs whose compute capability
/// begins with `compute_major`: float16 and bfloat16, from 8.0 (Ampere) on.
bool takes_flash_attention(at::ScalarType dtype, std::int64_t head_dim, int compute_major);

/// The last q.size(0) tokens of a sequence over all of its keys and values, [tokens, heads, head_dim], without
/// gradients: one call of flash attention, or LibTorch's choice.
at::Tensor continued_attention(const AttentionInputs& inputs, std::int64_t window);

/// x [tokens, heads, head_dim] of one sequence as [kv heads, heads / kv heads, tokens, head_dim]: heads that share keys
/// are rows of one batch entry. Keys and values take it with stride 0.
at::Tensor grouped_by_kv_head(const at::Tensor& x, std::int64_t kv_heads, std::int64_t heads);

/// What `window` allows `length` tokens that follow `past` others, as 0 and -inf [length, past + length]; undefined
/// where causality alone limits them and LibTorch knows that limit.
at::Tensor attention_mask(std::int64_t past, std::int64_t length, std::int64_t window,
                          const at::TensorOptions& options);

}  // namespace multicard
