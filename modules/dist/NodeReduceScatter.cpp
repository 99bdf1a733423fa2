#include "dist/NodeReduceScatter.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

#include "dist/CommDtypeCodec.hpp"
#include "dist/PairwiseExchange.hpp"
#include "dist/RankOrderReduce.hpp"

namespace multicard {

// Protocol of one piece of all parts on a node:
//   1. Each rank fills its buffer with its piece of every part.
//   2. barrier(signature): all buffers are filled, and all ranks reduce the same thing.
//   3. Rank i of the node adds, in rank order, the pieces for the parts of its partners (and its own).
//   4. barrier(): no rank reads a buffer any more.
//   5. Partners exchange these sums over MPI, and each adds those for its own part in the order of nodes.
// On one node whose arrays lie in shared memory, ranks add from and into these between the two barriers.

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kReduceScatter = std::uint64_t{2} << 40;  // apart from sums and gathers
constexpr std::size_t kAligned = 32;                              // elements

OpSignature signature_of(const ReduceOperand& operand, std::uint64_t place) {
  const auto comm_dtype = static_cast<std::uint64_t>(operand.options.comm_dtype),
             type = static_cast<std::uint64_t>(operand.type);
  return {kReduceScatter | comm_dtype << 8 | type, operand.count, place};
}

}  // namespace

double NodeReduceScatter::reduce_scatter(const ReduceOperand& operand) {
  if (!group_.is_even()) return all_reduce_.all_reduce(operand);
  if (operand.memory && group_.num_nodes == 1) return add_arrays(operand);
  const std::size_t width = c10::elementSize(operand.type), num_ranks = static_cast<std::size_t>(group_.all.size());
  const std::size_t part = operand.count / num_ranks;
  const std::size_t most = std::max<std::size_t>(NodeGroup::kStageBytes / (num_ranks * width) / kAligned, 1) * kAligned;
  double waited_s = 0;
  for (std::size_t first = 0; first < part; first += most) {
    const double waited_here_s = reduce_piece(operand, first, std::min(most, part - first));
    if (first == 0) waited_s = waited_here_s;
  }
  return group_.num_nodes == 1 ? waited_s : kUnknown;
}

double NodeReduceScatter::add_arrays(const ReduceOperand& operand) {
  const auto offset = static_cast<std::size_t>(operand.data - operand.memory->part(group_.rank()));
  const double waited_s = group_.channel->barrier(signature_of(operand, (operand.memory_number + 1) << 48 | offset));
  std::vector<std::byte*> arrays;
  arrays.reserve(static_cast<std::size_t>(group_.node.size()));
  for (int r = 0; r < group_.node.size(); ++r)
    arrays.push_back(operand.memory->part(r) + offset);
  const std::size_t part = operand.count / static_cast<std::size_t>(group_.all.size());
  const std::size_t begin = static_cast<std::size_t>(group_.all.rank()) * part;
  const std::array<std::byte*, 1> mine{operand.data};
  reduce_in_rank_order(arrays, mine, begin, begin + part, operand.type, operand.options.comm_dtype);
  group_.channel->barrier();
  return waited_s;
}

double NodeReduceScatter::reduce_piece(const ReduceOperand& operand, std::size_t first, std::size_t count) {
  const auto num_ranks = static_cast<std::size_t>(group_.all.size());
  const int me = group_.all.rank();
  const std::size_t width = c10::elementSize(operand.type), part = operand.count / num_ranks, bytes = count * width;
  const auto piece = [&](std::size_t rank) { return operand.data + (rank * part + first) * width; };
  if (!group_.channel) stage_.resize(num_ranks * bytes);
  for (std::size_t rank = 0; rank < num_ranks; ++rank)
    std::memcpy(buffer(group_.rank()) + rank * bytes, piece(rank), bytes);
  const double waited_s = group_.channel ? group_.channel->barrier(signature_of(operand, first)) : 0;
  if (group_.num_nodes == 1) {
    add_on_node(operand, me, count, piece(static_cast<std::size_t>(me)));
  } else {
    sums_.resize(static_cast<std::size_t>(group_.num_nodes) * bytes);
    for (int node = 0; node < group_.num_nodes; ++node)
      add_on_node(operand, group_.partner(group_.rank(), node), count,
                  sums_.data() + static_cast<std::size_t>(node) * bytes);
  }
  if (group_.channel) group_.channel->barrier();
  if (group_.num_nodes > 1) add_across(operand, count, piece(static_cast<std::size_t>(me)));
  return waited_s;
}

std::byte* NodeReduceScatter::buffer(int node_rank) {
  return group_.channel ? group_.channel->buffer(node_rank) : stage_.data();
}

void NodeReduceScatter::add_on_node(const ReduceOperand& operand, int rank, std::size_t count, std::byte* sum) {
  std::vector<std::byte*> pieces;
  pieces.reserve(static_cast<std::size_t>(group_.node.size()));
  for (int r = 0; r < group_.node.size(); ++r)
    pieces.push_back(buffer(r) + static_cast<std::size_t>(rank) * count * c10::elementSize(operand.type));
  const std::array<std::byte*, 1> target{sum};
  reduce_in_rank_order(pieces, target, 0, count, operand.type, operand.options.comm_dtype);
}

void NodeReduceScatter::add_across(const ReduceOperand& operand, std::size_t count, std::byte* total) {
  const CommDtype comm_dtype = operand.options.comm_dtype;
  if (comm_dtype == CommDtype::same) {
    exchange_rows(sums_);
  } else {
    // These sums are rounded already: nothing is lost in 16 bits.
    const std::size_t all = count * static_cast<std::size_t>(group_.num_nodes);
    auto* const floats = reinterpret_cast<float*>(sums_.data());
    words_.resize(all * sizeof(std::uint16_t));
    auto* const words = reinterpret_cast<std::uint16_t*>(words_.data());
    codec_of(comm_dtype).pack(floats, words, all);
    exchange_rows(words_);
    codec_of(comm_dtype).unpack(words, floats, all);
  }
  const std::array<std::byte*, 1> target{total};
  reduce_in_rank_order(rows_of(sums_), target, 0, count, operand.type, comm_dtype);
}

std::vector<std::byte*> NodeReduceScatter::rows_of(std::vector<std::byte>& matrix) const {
  std::vector<std::byte*> rows;
  for (std::size_t node = 0; node < static_cast<std::size_t>(group_.num_nodes); ++node)
    rows.push_back(matrix.data() + node * (matrix.size() / static_cast<std::size_t>(group_.num_nodes)));
  return rows;
}

void NodeReduceScatter::exchange_rows(std::vector<std::byte>& matrix) {
  received_.resize(matrix.size());
  const std::vector<std::byte*> rows = rows_of(matrix), to = rows_of(received_);
  const std::vector<const std::byte*> from(rows.begin(), rows.end());
  const std::size_t bytes = matrix.size() / rows.size();
  pairwise_exchange(group_.across, from, to, bytes);
  for (std::size_t node = 0; node < rows.size(); ++node)
    if (static_cast<int>(node) != group_.across.rank()) std::memcpy(rows[node], to[node], bytes);
}

}  // namespace multicard
