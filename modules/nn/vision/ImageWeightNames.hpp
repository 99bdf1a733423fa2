#pragma once
/// \file What is known of the names of tensors in files of image weights.

#include <vector>

#include "io/ForeignFormat.hpp"

namespace multicard {

/// For each family of networks the patterns (of a shell) of its names, which are torchvision's, then what may be
/// added to them or in front of them. Any other name is refused, and so is a file that lacks one.
std::vector<ForeignFormat> image_weight_formats();

}  // namespace multicard
