#pragma once
/// \file Low-rank adapters (Hu et al. 2021, arXiv 2106.09685) in PEFT's meaning.

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include "state/AdapterSettings.hpp"

namespace multicard {

/// Adapters of linear layers: y = x W^T + s (dropout(x) A^T) B^T with A [rank, in] and B [out, rank].
struct AdapterOptions {
  AdapterSettings settings = {};
  std::string file = {};  ///< the adapter that these settings come from; empty: the keys method.* of a deck
  at::ScalarType dtype = at::kFloat;
  std::uint64_t seed = 1;    ///< of the values of A
  NameMatcher matcher = {};  ///< for targets that may be a regular expression, and for patterns
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
