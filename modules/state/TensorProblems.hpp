#pragma once
/// \file The words for tensors of a file that do not fit a model's.

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// "[2, 3]"
std::string shape_text(at::IntArrayRef shape);
/// The first three names and how many more there are.
std::string example_text(const std::vector<std::string>& names);

/// \name Each throws a DataError when there is something to say; `origin` is the file or folder.
/// @{
void refuse_missing(const std::string& origin, const std::vector<std::string>& missing);
/// Of tensors that no model has, those that say what kind of files these are.
void refuse_unsupported(const std::string& origin, const std::vector<std::string>& unknown);
void refuse_unknown(const std::string& origin, const std::vector<std::string>& unknown);
/// \param suggestion what sets the model's shapes
void refuse_shape(const std::string& origin, const std::string& name, at::IntArrayRef stored, at::IntArrayRef wanted,
                  const std::string& suggestion);
/// Throws always: the dtype has no counterpart here.
[[noreturn]] void refuse_dtype(const std::string& origin, const std::string& name, const std::string& dtype);
/// @}

}  // namespace multicard
