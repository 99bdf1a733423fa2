#pragma once
/// \file A tensor and the name it has in files.

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// One entry of a state dictionary. Copies share the tensor.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

using NamedTensors = std::vector<NamedTensor>;

}  // namespace multicard
