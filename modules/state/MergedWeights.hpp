#pragma once
/// \file A base model with an adapter added to its weights.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "state/ModelFolder.hpp"
#include "state/PeftAdapter.hpp"

namespace multicard {

/// What a weight of the base, by name, is replaced by before an adapter is added.
using BaseChange = std::function<at::Tensor(const std::string& name, const at::Tensor& weight)>;

/// Gives the weights W + scaling B A of an adapted model one at a time.
class MergedWeights {
 public:
  /// Both are used as long as this object is. \throws DataError when the adapter names a layer that the base does not
  /// have, has other shapes, or adapts the output layer of a tied model.
  MergedWeights(const ModelFolder& base, const PeftAdapter& adapter, OutputLayer output, BaseChange change = {});

  /// The weight `name` of the model in `dtype`. Sums are made in float32 (float64 where the base or the adapter has
  /// it) and rounded once. The base's memory pages are given back.
  at::Tensor weight(const std::string& name, at::ScalarType dtype) const;

 private:
  const ModelFolder& base_;
  const PeftAdapter& adapter_;
  OutputLayer output_;
  BaseChange change_;
  std::set<std::string> adapted_;  ///< names of weights
};

}  // namespace multicard
