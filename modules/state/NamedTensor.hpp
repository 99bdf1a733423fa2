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

/// The tensors alone, in the same order.
inline std::vector<at::Tensor> tensors_of(const NamedTensors& named) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(named.size());
  for (const NamedTensor& entry : named)
    tensors.push_back(entry.tensor);
  return tensors;
}

}  // namespace multicard
