#pragma once
/// \file Causal attention of packed sequences with rotary positions.

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "base/RowShape.hpp"
#include "nn/KvCache.hpp"
#include "nn/Rope.hpp"

namespace multicard {

struct HeadShape {
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;

  std::int64_t query_size() const { return heads * head_dim; }
  std::int64_t kv_size() const { return kv_heads * head_dim; }
};

/// Consecutive tokens that see each other.
struct TokenSpan {
  std::int64_t first = 0, length = 0;
};

/// Where the sequences of a batch lie among its tokens, all rows one after the other.
struct SequencePlan : torch::CustomClassHolder {
  std::vector<TokenSpan> sequences;  ///< in order, without padding
  std::int64_t num_tokens = 0, longest = 0;
  at::Tensor positions;    ///< int64 [tokens], on the device; each sequence's and each padding's begin at 0
  at::Tensor boundaries;   ///< int32 on a GPU: where sequences and paddings begin, and the end; else undefined
  at::Tensor sequence_of;  ///< int64 [tokens], on the device: number of the sequence (0 in padding)
  RopeTable rope;          ///< of the positions

  /// Of rows that are `width` tokens wide. DataError for a row that is longer.
  static c10::intrusive_ptr<SequencePlan> of_rows(std::span<const RowShape> shapes, std::int64_t width,
                                                  at::Device device);
  /// One sequence of `count` tokens whose first has position `first`.
  static c10::intrusive_ptr<SequencePlan> of_continuation(std::int64_t first, std::int64_t count, at::Device device);
};

/// What each token's heads gather from its own sequence up to itself (with a window: from the last `window` tokens),
/// [tokens, heads * head_dim]; padding gets zeros or, on a GPU, its own past. `qkv` is [tokens, (heads + 2 kv heads) *
/// head_dim], not rotated yet: its queries and keys are turned by plan.rope in place.
at::Tensor attention(const at::Tensor& qkv, const HeadShape& shape, const c10::intrusive_ptr<SequencePlan>& plan,
                     std::int64_t window);

/// The same, without gradients, for the next tokens of one sequence, after those in `cache`.
at::Tensor cached_attention(const at::Tensor& qkv, const HeadShape& shape, const SequencePlan& plan,
                            std::int64_t window, std::int64_t layer, KvCache& cache);

}  // namespace multicard
