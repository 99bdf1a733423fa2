#pragma once
/// \file Gradients of blocks, of which each rank gets the sums of a part.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dist/SplitParameters.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// The gradients of a block exist while backward is in it: in one of two rows, which is laid out as the block's weights
/// are. The row is then summed over the ranks, each of which adds its part to what it has.
class BlockGradients {
 public:
  /// The trained weights of a block, and where they begin in its row.
  struct Leaves {
    std::int64_t part = 0;  ///< elements of each of the ranks' parts
    std::vector<std::pair<at::Tensor, std::int64_t>> members;
  };

  /// Collective. \param blocks of one type, equal on all ranks \param ranks used as long as this
  BlockGradients(std::vector<Leaves> blocks, const ShardRanks& ranks, CommDtype comm_dtype);

  /// Backward enters a block: its weights have gradients, which are zero.
  void begin(std::int64_t block);
  /// Collective. It leaves the block, whose weights have none any more.
  void end(std::int64_t block);
  /// Collective, once after zero(). Waits until parts hold the sums of what has ended, over the ranks of all copies.
  void finish();
  /// Sets the parts to zero, whatever is under way.
  void zero();

  const at::Tensor& part(std::int64_t block) const { return parts_.at(static_cast<std::size_t>(block)); }
  /// Of parts and rows.
  std::int64_t bytes() const;

  static constexpr std::int64_t kNumRows = 2;

 private:
  static constexpr std::int64_t kNone = -1;
  struct Row {
    at::Tensor elements;
    std::int64_t block = kNone;  ///< that is summed
    std::unique_ptr<Work> work;  ///< null when it is done
  };

  Row& row_of(std::int64_t block) { return rows_[static_cast<std::size_t>(block % kNumRows)]; }
  void settle(Row& row);
  void settle_all();

  ShardRanks ranks_;
  TensorCollectives& collectives_;  ///< of the group
  CommDtype comm_dtype_;
  std::vector<Leaves> blocks_;
  std::vector<at::Tensor> parts_;
  std::array<Row, kNumRows> rows_;
};

}  // namespace multicard
