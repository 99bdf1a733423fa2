#pragma once
/// \file Rows of a global batch, on their way from the shards to the network.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/RowShape.hpp"

namespace multicard {

/// Rows of one global batch: all of them, or one rank's.
struct Batch {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t num_rows = 0;          ///< held here; may be 0
  std::int64_t global_rows = 0;       ///< over all ranks
  at::Tensor inputs;                  ///< [num_rows, ...]: the network's input, or what it is made from on the device
  at::Tensor targets;                 ///< [num_rows]; of text [num_rows, width]
  at::Tensor windows = {};            ///< images whose augmentation is left to the device: int32 [num_rows, 5]
  std::int64_t global_targets = 0;    ///< text: target tokens of all ranks' rows
  std::vector<RowShape> shapes = {};  ///< text: of the num_rows rows, in host memory
  std::vector<std::int64_t> row_numbers = {};  ///< text: of the num_rows rows in TextRows

  /// Rows [first, first + count), sharing memory; global_rows stays.
  Batch rows(std::int64_t first, std::int64_t count) const;
  /// All defined tensors, in a fixed order.
  std::vector<at::Tensor> tensors() const;
};

/// How much of each global batch a rank reads.
enum class Reading {
  sharded,     ///< the rows it trains on
  replicated,  ///< all rows, of which it keeps those it trains on
  root,        ///< all rows, to scatter them
  none         ///< nothing: the root scatters
};

/// What a rank reads of each global batch, and which steps.
struct ReadPlan {
  int rank = 0;  ///< the rows it trains on are block_of(rows, rank, num_ranks)
  int num_ranks = 1;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;  ///< one past the last
  Reading reading = Reading::sharded;
};

/// Of a batch read as `plan` says, the rows that the plan's rank trains on.
Batch local_shard(Batch batch, const ReadPlan& plan);

}  // namespace multicard
