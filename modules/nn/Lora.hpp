#pragma once
/// \file Low-rank adapters (Hu et al. 2021, arXiv 2106.09685) in PEFT's meaning.

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include "state/AdapterPatterns.hpp"

namespace multicard {

/// Adapters of linear layers: y = x W^T + s (dropout(x) A^T) B^T with A [rank, in] and B [out, rank].
struct AdapterOptions {
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
  std::string file = {};  ///< the adapter that these settings come from; empty: the keys method.* of a deck
  at::ScalarType dtype = at::kFloat;
  std::uint64_t seed = 1;    ///< of the values of A
  NameMatcher matcher = {};  ///< for targets that may be a regular expression, and for patterns

  /// Of the layers that no pattern names.
  LayerAdapter common() const { return {rank, alpha}; }
};

/// Which of `names` are adapted, in their order. UsageError (DataError if the targets come from a file) for a target
/// that matches none of them or that names the embedding or lm_head, for an expression that is not one or takes too
/// long, and for a rank or alpha out of range; UsageError for a dropout out of range. std::logic_error where a single
/// target is no name and there is no matcher.
std::vector<std::string> adapted_layers(const AdapterOptions& options, const std::vector<std::string>& names);

/// The adapters of `layers`, which adapted_layers() gave, in their order. UsageError (DataError if the patterns come
/// from a file) for a pattern that is no expression or takes too long, and for a value out of range; in a deck also for
/// one that matches none of the layers, which PEFT, and a file, may have. std::logic_error for patterns without a
/// matcher.
std::vector<LayerAdapter> layer_adapters(const AdapterOptions& options, const std::vector<std::string>& layers);

/// Which of `modules` modules_to_save names, in their order. UsageError (DataError if it comes from a file) for a name
/// that none of them ends in, or that one of the blocks' linear layers `linear` ends in.
std::vector<std::string> saved_modules(const AdapterOptions& options, const std::vector<std::string>& modules,
                                       const std::vector<std::string>& linear);

}  // namespace multicard
