#pragma once
/// \file A base model with an adapter added to its weights.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "state/ModelFolder.hpp"
#include "state/PeftAdapter.hpp"

namespace multicard {

/// What a weight of the base, by name, is replaced by before an adapter is added.
using BaseChange = std::function<at::Tensor(const std::string& name, const at::Tensor& weight)>;

/// Gives the weights of an adapted model one at a time: W + scaling B A, and those of modules_to_save as the adapter
/// has them.
class MergedWeights {
 public:
  /// Both folders are used as long as this object is. \param matcher of the adapter's patterns; may be empty where it
  /// has none \throws DataError when the adapter names a layer or a weight that the base does not have, has other
  /// shapes, or adapts the output layer of a tied model.
  MergedWeights(const ModelFolder& base, const PeftAdapter& adapter, OutputLayer output, const NameMatcher& matcher,
                BaseChange change = {});

  /// All weights of the merged model, in the base's dtypes.
  std::vector<TensorHeader> tensors() const;
  /// Of the merged model: tied embeddings of which the adapter has one side are tied no longer.
  OutputLayer output() const { return saves_ends_ ? OutputLayer::own : output_; }

  /// The weight `name` of the model in `dtype`. Sums are made in float32 (float64 where the base or the adapter has
  /// it) and rounded once. The base's memory pages are given back.
  at::Tensor weight(const std::string& name, at::ScalarType dtype) const;

 private:
  void add_adapted(const NameMatcher& matcher);
  void add_saved();
  /// The name under which the base stores what the model calls `name`, if it does.
  std::optional<std::string> stored_name(const std::string& name) const;

  const ModelFolder& base_;
  const PeftAdapter& adapter_;
  OutputLayer output_;
  BaseChange change_;
  std::map<std::string, double> adapted_;  ///< scalings by names of weights
  std::set<std::string> saved_;            ///< names of weights
  bool saves_ends_ = false;                ///< the embeddings or the output layer among them
};

}  // namespace multicard
