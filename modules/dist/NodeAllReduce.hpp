#pragma once
/// \file All-reduce over ranks through the shared memory of nodes; for modules/dist only.

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <c10/core/ScalarType.h>

#include "comm/Communicator.hpp"
#include "dist/CommDtypeAllReduce.hpp"
#include "dist/NodeGroup.hpp"
#include "dist/SegmentedAllReduce.hpp"
#include "dist/SharedMemory.hpp"

namespace multicard {

/// Memory of this rank to be reduced, and where the other ranks of the node have theirs, if this rank can see it.
struct ReduceOperand {
  std::byte* data = nullptr;
  std::size_t count = 0;  ///< elements
  at::ScalarType type = at::kFloat;
  std::shared_ptr<SharedMemory> memory;  ///< that holds the data, or null
  std::size_t memory_number = 0;         ///< of the memory, equal on all ranks
  ReduceOptions options;
};

/// All-reduces large arrays. Each rank of a node adds one slice of all ranks' arrays, in rank order, and writes the
/// result to all of them; between nodes the ranks that have the same slice all-reduce it with MPI first, optionally
/// in 16 bits. All ranks get the same bits. Arrays outside shared memory pass through a buffer.
class NodeAllReduce {
 public:
  /// \param group used as long as this
  explicit NodeAllReduce(const NodeGroup& group);

  /// Collective over all. In place. \return the seconds that this rank has waited until all had entered; NaN with
  /// several nodes, where MPI waits for the others
  double all_reduce(const ReduceOperand& operand);

  /// What has come from other nodes so far, by rank in `all`. Any thread.
  ReceivedByRank received() const;

 private:
  double reduce_piece(const ReduceOperand& operand, std::size_t first, std::size_t count);
  void reduce_arrays(const std::vector<std::byte*>& arrays, std::size_t count, const ReduceOperand& operand);
  std::vector<std::byte*> targets(const std::vector<std::byte*>& arrays, std::optional<int> root) const;

  const NodeGroup& group_;
  std::shared_ptr<ReceivedCounter> received_ = std::make_shared<ReceivedCounter>();
  SegmentedAllReduce segmented_all_reduce_;   ///< over group_.across
  CommDtypeAllReduce comm_dtype_all_reduce_;  ///< over group_.across
};

/// All-reduces small arrays with little latency, on the calling thread: every rank reads all ranks' values.
class SmallAllReduce {
 public:
  /// Larger arrays than this are NodeAllReduce's.
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 10;

  /// Collective.
  SmallAllReduce(const Communicator& all, const Communicator& node);

  /// Collective over all. In place; count elements of at most kMaxBytes together. \param type float32 or float64
  /// \return as of NodeAllReduce
  double all_reduce(std::byte* data, std::size_t count, at::ScalarType type);

 private:
  Communicator all_;
  std::unique_ptr<NodeChannel> channel_;  ///< null with several nodes: MPI then
  std::size_t turn_ = 0;
};

}  // namespace multicard
