#include "dist/NodeAllGather.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "comm/Native.hpp"
#include "dist/PairwiseExchange.hpp"

namespace multicard {

// Protocol of one piece of all parts on a node, each rank of which has a buffer with a row for each node:
//   1. The rank fills the row of its own node with its piece, and exchanges rows with its partners on other nodes.
//   2. barrier(signature): the rows of all ranks of the node are filled, and all of them gather the same thing.
//   3. Every rank copies all rows of all buffers to where they belong.
//   4. barrier(): no rank reads a buffer any more, and its owner may fill it again.
// On one node whose parts lie in shared memory there are no buffers: parts are copied between the two barriers, after
// the second of which their owners may change them.

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kAllGather = std::uint64_t{1} << 40;  // apart from the sums'
constexpr std::size_t kLine = 64;

void copy_bytes(std::byte* to, const std::byte* from, std::size_t count) {
  if (to != from && count > 0) std::memcpy(to, from, count);
}

}  // namespace

double NodeAllGather::all_gather(const GatherOperand& operand) {
  const auto num_nodes = static_cast<std::size_t>(group_.num_nodes);
  if (!group_.is_even()) {
    gather_by_messages(operand);
    return kUnknown;
  }
  if (operand.memory && num_nodes == 1) return copy_parts(operand);
  const std::size_t most = NodeGroup::kStageBytes / num_nodes / kLine * kLine;
  double waited_s = 0;
  for (std::size_t first = 0; first < operand.part_bytes; first += most) {
    const double waited_here_s = gather_piece(operand, first, std::min(most, operand.part_bytes - first));
    if (first == 0) waited_s = waited_here_s;
  }
  return num_nodes == 1 ? waited_s : kUnknown;
}

double NodeAllGather::copy_parts(const GatherOperand& operand) {
  const auto offset = static_cast<std::size_t>(operand.part - operand.memory->part(group_.rank()));
  const std::uint64_t place = (operand.memory_number + 1) << 48 | offset;
  const double waited_s = group_.channel->barrier({kAllGather, operand.part_bytes, place});
  for (int r = 0; r < group_.node.size(); ++r)
    copy_bytes(
        operand.whole + static_cast<std::size_t>(group_.node_ranks[static_cast<std::size_t>(r)]) * operand.part_bytes,
        operand.memory->part(r) + offset, operand.part_bytes);
  group_.channel->barrier();
  return waited_s;
}

double NodeAllGather::gather_piece(const GatherOperand& operand, std::size_t first, std::size_t count) {
  const auto num_nodes = static_cast<std::size_t>(group_.num_nodes);
  if (!group_.channel) stage_.resize(num_nodes * count);
  const auto buffer = [&](int node_rank) { return group_.channel ? group_.channel->buffer(node_rank) : stage_.data(); };
  std::byte* const mine = buffer(group_.rank());
  const std::size_t here = static_cast<std::size_t>(group_.across.rank());
  std::memcpy(mine + here * count, operand.part + first, count);
  std::vector<std::byte*> rows;
  for (std::size_t n = 0; n < num_nodes; ++n)
    rows.push_back(mine + n * count);
  const std::vector<const std::byte*> own(num_nodes, mine + here * count);
  pairwise_exchange(group_.across, own, rows, count);
  const double waited_s = group_.channel ? group_.channel->barrier({kAllGather, operand.part_bytes, first}) : 0;
  for (int r = 0; r < group_.node.size(); ++r)
    for (std::size_t n = 0; n < num_nodes; ++n) {
      const auto rank = static_cast<std::size_t>(group_.partner(r, static_cast<int>(n)));
      copy_bytes(operand.whole + rank * operand.part_bytes + first, buffer(r) + n * count, count);
    }
  if (group_.channel) group_.channel->barrier();
  return waited_s;
}

void NodeAllGather::gather_by_messages(const GatherOperand& operand) {
  const auto num_ranks = static_cast<std::size_t>(group_.all.size());
  const auto me = static_cast<std::size_t>(group_.all.rank());
  for (std::size_t first = 0; first < operand.part_bytes; first += NodeGroup::kStageBytes) {
    std::vector<std::byte*> places;
    for (std::size_t r = 0; r < num_ranks; ++r)
      places.push_back(operand.whole + r * operand.part_bytes + first);
    const std::vector<const std::byte*> own(num_ranks, operand.part + first);
    pairwise_exchange(group_.all, own, places, std::min(NodeGroup::kStageBytes, operand.part_bytes - first));
  }
  copy_bytes(operand.whole + me * operand.part_bytes, operand.part, operand.part_bytes);
}

}  // namespace multicard
