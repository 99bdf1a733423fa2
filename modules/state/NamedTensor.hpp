#pragma once
/// \file A tensor and the name it has in files.

#include <cstdint>
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

/// Bytes of all of them.
inline std::int64_t bytes_of(const NamedTensors& named) {
  std::int64_t bytes = 0;
  for (const NamedTensor& entry : named)
    bytes += static_cast<std::int64_t>(entry.tensor.nbytes());
  return bytes;
}

}  // namespace multicard
