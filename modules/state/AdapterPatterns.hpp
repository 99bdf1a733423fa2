#pragma once
/// \file Ranks and alphas of single layers' adapters (PEFT's rank_pattern and alpha_pattern).

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace multicard {

/// Gives those of `names` that a regular expression matches as a whole, in their order (text/tokenizer/NameMatch.hpp
/// has one). \param shown the expression as its author wrote it, for errors \throws DataError for an expression that is
/// not one or takes too long
using NameMatcher = std::function<std::vector<std::string>(
    const std::string& expression, const std::vector<std::string>& names, const std::string& shown)>;

/// Values of layers by regular expression. An expression matches the whole name of a layer or its last parts: "q_proj",
/// "layers\.[01]\..*" and "^model\.layers\.0\.mlp\.up_proj", but not "proj". The first that matches decides.
template <class T>
using LayerPatterns = std::vector<std::pair<std::string, T>>;

/// Rank and alpha of one layer's adapter.
struct LayerAdapter {
  int rank = 8;
  double alpha = 8;

  /// What B A x is multiplied by: alpha/rank, alpha/sqrt(rank) for rank-stabilised LoRA.
  double scaling(bool rslora) const;
  bool operator==(const LayerAdapter&) const = default;
};

/// For which layers rank or alpha are other ones than those of the adapter.
struct AdapterPatterns {
  LayerPatterns<int> rank;
  LayerPatterns<double> alpha;

  bool empty() const { return rank.empty() && alpha.empty(); }
  /// Those of `layers`, in their order, with `common` for the values that no pattern sets. \throws DataError as
  /// `matcher`, std::logic_error for patterns without one
  std::vector<LayerAdapter> apply(LayerAdapter common, const std::vector<std::string>& layers,
                                  const NameMatcher& matcher) const;
};

/// Those of `layers` whose names `pattern` matches as above.
std::vector<std::string> layers_matching(const std::string& pattern, const std::vector<std::string>& layers,
                                         const NameMatcher& matcher);

/// Whether PEFT's modules_to_save names a module: its name ends in one of them, at whatever letter.
bool is_module_to_save(const std::string& module, const std::vector<std::string>& modules_to_save);

}  // namespace multicard
