#pragma once
/// \file Normalised queries and keys, as Qwen3 has them.

#include <ATen/core/Tensor.h>

#include "nn/language/Attention.hpp"

namespace multicard {

/// Weights [head_dim] of the root-mean-square norms of each head's queries and of its keys; undefined where a network
/// has none.
struct HeadNorms {
  at::Tensor queries, keys;

  bool are_there() const { return queries.defined(); }
};

/// `qkv` [tokens, (heads + 2 kv heads) * head_dim], not rotated yet, with its queries and keys normalised head by head.
at::Tensor norm_heads(const at::Tensor& qkv, const HeadShape& shape, const HeadNorms& norms, double epsilon);

}  // namespace multicard
