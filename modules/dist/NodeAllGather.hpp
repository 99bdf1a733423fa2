#pragma once
/// \file All-gather over ranks through the shared memory of nodes; for modules/dist only.

#include <cstddef>
#include <memory>
#include <vector>

#include "dist/NodeGroup.hpp"
#include "dist/SharedMemory.hpp"

namespace multicard {

/// This rank's part, and memory for those of all ranks, one after the other.
struct GatherOperand {
  const std::byte* part = nullptr;  ///< may be its place in `whole`
  std::byte* whole = nullptr;
  std::size_t part_bytes = 0;            ///< equal on all ranks
  std::shared_ptr<SharedMemory> memory;  ///< that holds the part, or null
  std::size_t memory_number = 0;         ///< of the memory, equal on all ranks
};

/// Gathers large parts. Inside a node ranks copy from each other's memory; between nodes each part goes once to each
/// other node: to the partner of its rank there, from whose buffer the others copy it. Where nodes differ in their
/// number of ranks, every rank sends its part to every other.
class NodeAllGather {
 public:
  /// \param group used as long as this
  explicit NodeAllGather(const NodeGroup& group) : group_(group) {}

  /// Collective over all. \return the seconds that this rank has waited until all had entered; NaN with several nodes,
  /// where MPI waits for the others
  double all_gather(const GatherOperand& operand);

 private:
  /// Of one node, where every part lies in shared memory.
  double copy_parts(const GatherOperand& operand);
  /// Bytes [first, first + count) of all parts, by way of buffers. Returns as all_gather().
  double gather_piece(const GatherOperand& operand, std::size_t first, std::size_t count);
  void gather_by_messages(const GatherOperand& operand);

  const NodeGroup& group_;
  std::vector<std::byte> stage_;  ///< takes the place of the channel's buffer where there is one rank
};

}  // namespace multicard
