#pragma once
/// \file The tensors of a checkpoint.

#include <string>
#include <vector>

#include "state/NamedTensor.hpp"

namespace multicard {

/// One tensor file of a checkpoint.
struct CheckpointPart {
  std::string file;  ///< "model.safetensors", "optimizer.safetensors", ...
  NamedTensors tensors;
};
using CheckpointParts = std::vector<CheckpointPart>;

}  // namespace multicard
