#pragma once
/// \file The tensors of a checkpoint.

#include <cstdint>
#include <string>
#include <vector>

#include "state/NamedTensor.hpp"

namespace multicard {

/// Elements of a tensor that a rank writes itself.
struct TensorPiece {
  std::string name;        ///< of the tensor
  std::int64_t first = 0;  ///< in row-major order
  at::Tensor values;       ///< one dimension
};

/// One tensor file of a checkpoint.
struct CheckpointPart {
  std::string file;  ///< "model.safetensors", "optimizer.safetensors", ...
  NamedTensors tensors;
  std::vector<TensorPiece> pieces = {};  ///< of this rank
  bool in_pieces = false;                ///< whether ranks write those tensors in pieces that are on the meta device
};
using CheckpointParts = std::vector<CheckpointPart>;

}  // namespace multicard
