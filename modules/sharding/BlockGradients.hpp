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

/// The gradients of a block exist while backward is in it, those of the output layer from forward on: in one of two
/// rows, or of the ends of a network in a third, which is laid out as the block's weights are. The row is then summed
/// over the ranks, each of which adds its part to what it has.
class BlockGradients {
 public:
  /// The trained weights of a block, and where they begin in its row.
  struct Leaves {
    bool is_end = false;
    std::int64_t part = 0;  ///< elements of each of the ranks' parts
    std::vector<std::pair<at::Tensor, std::int64_t>> members = {};
  };

  /// Collective. \param blocks of one type, equal on all ranks \param ranks used as long as this
  BlockGradients(std::vector<Leaves> blocks, const ShardRanks& ranks, CommDtype comm_dtype);

  /// The weights of a block have gradients from now on, which are zero.
  void open(std::int64_t block);
  /// Backward enters a block: the same, unless it has been opened, and not been left since.
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

  static constexpr std::int64_t kNumRows = 2;  ///< of blocks that are not ends

 private:
  static constexpr std::int64_t kNone = -1;
  struct Row {
    at::Tensor elements;
    std::int64_t block = kNone;  ///< that backward is in, or that is summed
    std::unique_ptr<Work> work;  ///< null when it is done
  };

  Row& row_of(std::int64_t block);
  void take_gradients(std::int64_t block);
  void settle(Row& row);
  void settle_all();

  ShardRanks ranks_;
  TensorCollectives& collectives_;  ///< of the group
  CommDtype comm_dtype_;
  std::vector<Leaves> blocks_;
  std::vector<at::Tensor> parts_;
  std::array<Row, kNumRows + 1> rows_;
};

}  // namespace multicard
