#pragma once
/// \file Noise on the embeddings of training tokens (NEFTune: Jain et al. 2023, arXiv 2310.05914).

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "base/RowShape.hpp"

namespace multicard {

/// What a batch's noise is a function of, in addition to the places of its tokens: not of ranks and micro-batches.
struct EmbeddingNoise {
  double alpha = 0;                           ///< 0: none
  std::span<const std::uint64_t> seeds = {};  ///< one for each row

  bool is_on() const { return alpha > 0; }
};

/// Noise [rows * width, hidden] with `options`: for each sequence of L tokens uniform within ± alpha / √(L · hidden),
/// drawn for each token and column; zero in padding. A function of the row's seed, the token's place in its row and the
/// column.
at::Tensor embedding_noise(const EmbeddingNoise& noise, std::span<const RowShape> shapes, std::int64_t width,
                           std::int64_t hidden, const at::TensorOptions& options);

}  // namespace multicard
