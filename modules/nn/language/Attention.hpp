#pragma once
/// \file Causal attention of packed sequences with rotary positions.

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "kernels/SequencePlan.hpp"
#include "nn/language/KvCache.hpp"

namespace multicard {

struct HeadShape {
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;

  std::int64_t query_size() const { return heads * head_dim; }
  std::int64_t kv_size() const { return kv_heads * head_dim; }
};

/// What each token's heads gather from its own sequence up to itself (with a window: from the last `window` tokens),
/// [tokens, heads * head_dim]; padding gets zeros or, on a GPU, its own past. `qkv` is [tokens, (heads + 2 kv heads) *
/// head_dim], not rotated yet: its queries and keys are rotated by plan.rope in place.
at::Tensor attention(const at::Tensor& qkv, const HeadShape& shape, const c10::intrusive_ptr<SequencePlan>& plan,
                     std::int64_t window);

/// The same, without gradients, for the next tokens of each sequence of `plan`, after those in its cache.
at::Tensor cached_attention(const at::Tensor& qkv, const HeadShape& shape, const SequencePlan& plan,
                            std::int64_t window, std::int64_t layer, std::span<KvCache* const> caches);

}  // namespace multicard
