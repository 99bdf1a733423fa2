#pragma once
/// \file What is known of the names of a model's tensors, and of the index of its files.

#include <string>
#include <vector>

#include "io/ForeignFormat.hpp"

namespace multicard {

/// "weights" and "index", as `multicard help formats` and docs/models.md show them. Names with N stand for all numbers,
/// names that begin with an asterisk for all that end so.
std::vector<ForeignFormat> weight_formats();

/// What is known of a tensor; nullptr where that is nothing.
const ForeignKey* known_tensor(const std::string& name);

/// The name in a model with an output layer of a tensor that a class without one (LlamaModel, for example) has saved.
std::string with_base_prefix(const std::string& name);

}  // namespace multicard
