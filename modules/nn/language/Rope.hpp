#pragma once
/// \file Rotary positions (Su et al. 2021, arXiv 2104.09864), by halves as Hugging Face stores them.

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/Kernels.hpp"
#include "kernels/RopeTable.hpp"
#include "nn/language/LlamaConfig.hpp"

namespace multicard {

/// Angle per position of each pair of values, float32 [head_dim / 2] on the CPU, stretched as config.rope_scaling says.
at::Tensor rope_frequencies(const LlamaConfig& config);

/// The table of positions 0 .. count - 1. Angles are taken in float32, as the models were trained with.
RopeTable rope_table(const LlamaConfig& config, std::int64_t count, at::ScalarType dtype, at::Device device);

/// The table of as many positions as were needed so far.
class GrowingRopeTable {
 public:
  GrowingRopeTable(const LlamaConfig& config, at::Device device) : config_(config), device_(device) {}

  /// Makes it hold all positions below `end`, for products in `compute`.
  void reach(std::int64_t end, at::ScalarType compute);
  /// \param positions below `end` of the last reach()
  RopeTable at_positions(const at::Tensor& positions) const { return table_.at_positions(positions); }

 private:
  LlamaConfig config_;
  at::Device device_;
  RopeTable table_;
};

/// Which way rotate() rotates: inverse is also what the gradient of forward takes.
enum class Rotation { forward, inverse };

/// Rotates, in place and without gradients, the pairs (i, i + head_dim / 2) of x, a view [tokens, heads, head_dim]
/// whose heads lie side by side, by the angles of the tokens' `table`. Computed in the table's type.
void rotate(const at::Tensor& x, const RopeTable& table, Rotation rotation, Kernels kernels = Kernels::automatic);

}  // namespace multicard
