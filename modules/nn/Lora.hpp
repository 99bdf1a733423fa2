#pragma once
/// \file Low-rank adapters (Hu et al. 2021, arXiv 2106.09685) in PEFT's meaning.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

namespace multicard {

/// Gives those of `names` that a regular expression matches as a whole, in their order (text/NameMatch.hpp has one).
/// \throws DataError for an expression that is not one or takes too long
using NameMatcher =
    std::function<std::vector<std::string>(const std::string& expression, const std::vector<std::string>& names)>;

/// Adapters of linear layers: y = x W^T + s (dropout(x) A^T) B^T with A [rank, in] and B [out, rank].
struct AdapterOptions {
  int rank = 8;
  double alpha = 8;
  double dropout = 0;   ///< probability, in training only
  bool rslora = false;  ///< s = alpha / sqrt(rank) instead of alpha / rank (Kalajdzievski 2023, arXiv 2312.03732)
  /// Names that the linear layers' names end in (q_proj, self_attn.q_proj), or a single regular expression that whole
  /// names (model.layers.0.self_attn.q_proj) match, or all-linear: every linear layer of the blocks, not lm_head.
  std::vector<std::string> targets{"all-linear"};
  std::string file = {};  ///< the adapter that the targets come from; empty: method.targets of a deck
  at::ScalarType dtype = at::kFloat;
  std::uint64_t seed = 1;    ///< of the values of A
  NameMatcher matcher = {};  ///< for targets that may be a regular expression

  double scaling() const;
};

/// Which of `names` are adapted, in their order. UsageError (DataError if the targets come from a file) for a target
/// that matches none of them or that names the embedding or lm_head, and for an expression that is not one or takes too
/// long; UsageError for a rank or dropout out of range. std::logic_error where a single target is no name and there is
/// no matcher.
std::vector<std::string> adapted_layers(const AdapterOptions& options, const std::vector<std::string>& names);

}  // namespace multicard
