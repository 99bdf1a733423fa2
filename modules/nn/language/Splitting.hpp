#pragma once
/// \file What a network of language leaves to others, which give it the memory of its weights.

#include <functional>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// The matrices of a block's linear layers, or one of the ends, embedding or output layer: what products are made
/// with, and what holds the weights, or stands for them. They are the same unless products are made with copies.
struct BlockMatrices {
  std::vector<at::Tensor> multiplied, kept;
  bool is_end = false;
};
enum class Ends { whole, split };
/// How others give a network its memory.
struct Splitting {
  /// Called for all that is split, in the order of a pass, before the next one takes memory; undefined: nothing is.
  std::function<void(const BlockMatrices& matrices)> made = {};
  /// Copies of this type are multiplied instead of weights, which are dense. Who gives them memory also gives them
  /// the values of the weights.
  std::optional<at::ScalarType> copies = std::nullopt;
  /// Where they are split, blocks are numbered for hooks as follows: the embedding, the layers, the output layer,
  /// whose memory is that of the embedding where they are tied. They have no adapters then.
  Ends ends = Ends::whole;
};

}  // namespace multicard
