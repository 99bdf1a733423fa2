#pragma once
/// \file What files and training both say of low-rank adapters.

#include <string>
#include <vector>

#include "state/AdapterPatterns.hpp"

namespace multicard {

/// Which layers have adapters, and what these look like.
struct AdapterSettings {
  int rank = 8;
  double alpha = 8;
  double dropout = 0;   ///< probability, in training only
  bool rslora = false;  ///< s = alpha / sqrt(rank) instead of alpha / rank (Kalajdzievski 2023, arXiv 2312.03732)
  /// Names that the linear layers' names end in (q_proj, self_attn.q_proj), or a single regular expression that whole
  /// names (model.layers.0.self_attn.q_proj) match, or all-linear: every linear layer of the blocks, not lm_head.
  std::vector<std::string> targets{"all-linear"};
  AdapterPatterns patterns = {};  ///< of layers with another rank or alpha
  /// Ends of the names of modules of which a copy is trained whole: embed_tokens, lm_head, norms. As in PEFT they end
  /// at any letter: norm names all norms.
  std::vector<std::string> modules_to_save = {};

  /// Of the layers that no pattern names.
  LayerAdapter common() const { return {rank, alpha}; }
};

}  // namespace multicard
