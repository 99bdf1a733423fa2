#include "dist/NodeAllReduce.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "comm/Native.hpp"
#include "dist/RankOrderReduce.hpp"

namespace multicard {

// Protocol of one piece on a node of R ranks, each with its array in shared memory (its own, or the buffer of its
// channel, into which it has copied the values):
//   1. barrier(signature): all arrays are filled, and all ranks reduce the same thing, or all of them throw.
//   2. Rank s alone reads and writes slice s: it adds the slice of all arrays in rank order and writes the sum into the
//      arrays of all ranks, or of the root. Slices do not overlap, so nothing is locked and the bits do not depend on
//      timing. With several nodes, rank s of each all-reduces its slice over MPI before it writes it.
//   3. barrier(): all slices are written; a rank may use its array again, or copy the values out of its buffer. None
//      touches another rank's buffer before the barrier of the next piece, which its owner enters after that copy.
// All this runs on the communication thread. SmallAllReduce runs on the caller's, over a channel of its own; there each
// rank adds all values itself, and two halves of the buffers used alternately take the place of step 3.

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
/// Slices end on cache lines, whatever the element type.
constexpr std::size_t kSliceElements = 32;

/// Of at most SmallAllReduce::kMaxBytes.
void mpi_all_reduce(std::byte* data, std::size_t count, at::ScalarType type, const Communicator& communicator) {
  const MPI_Datatype datatype = type == at::kDouble ? MPI_DOUBLE : MPI_FLOAT;
  call_mpi(MpiFunction::allreduce, count * c10::elementSize(type), [&] {
    return MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), datatype, MPI_SUM, native(communicator));
  });
}

SegmentedAllReduce::Add add_of(at::ScalarType type) {
  return [type](const std::vector<std::byte*>& sources, std::byte* target, std::size_t count) {
    const std::array<std::byte*, 1> to{target};
    reduce_in_rank_order(sources, to, 0, count, type);
  };
}

std::unique_ptr<NodeChannel> open_channel(const Communicator& node, std::size_t bytes, WaitPolicy wait_policy) {
  return node.size() > 1 ? NodeChannel::create(node, bytes, wait_policy) : nullptr;
}

OpSignature signature_of(const ReduceOperand& operand, std::size_t place) {
  const auto root = static_cast<std::uint64_t>(operand.options.root.value_or(-1) + 1);
  const auto comm_dtype = static_cast<std::uint64_t>(operand.options.comm_dtype),
             type = static_cast<std::uint64_t>(operand.type);
  return {root << 16 | comm_dtype << 8 | type, operand.count, place};
}

}  // namespace

NodeAllReduce::NodeAllReduce(const NodeGroup& group)
    : group_(group), segmented_all_reduce_(group.across, received_), comm_dtype_all_reduce_(group.across, received_) {}

ReceivedByRank NodeAllReduce::received() const {
  ReceivedByRank by_rank;
  for (const auto& [rank, totals] : received_->totals())
    by_rank[group_.across_ranks[static_cast<std::size_t>(rank)]] = totals;
  return by_rank;
}

double NodeAllReduce::all_reduce(const ReduceOperand& operand) {
  const std::size_t width = c10::elementSize(operand.type);
  // Between nodes the pieces must agree, and one node may share memory where another does not.
  const std::size_t most = operand.memory && group_.num_nodes == 1 ? operand.count : NodeGroup::kStageBytes / width;
  double waited_s = 0;
  for (std::size_t first = 0; first < operand.count; first += most) {
    const double waited_here_s = reduce_piece(operand, first, std::min(most, operand.count - first));
    if (first == 0) waited_s = waited_here_s;  // later ones are a part of the transfer
  }
  return group_.num_nodes == 1 ? waited_s : kUnknown;
}

/// Returns the seconds until all ranks of the node had come.
double NodeAllReduce::reduce_piece(const ReduceOperand& operand, std::size_t first, std::size_t count) {
  const std::size_t width = c10::elementSize(operand.type);
  std::byte* mine = operand.data + first * width;
  if (!group_.channel) {
    reduce_arrays({mine}, count, operand);
    return 0;
  }
  const bool staged = !operand.memory;
  const std::size_t offset = staged ? 0 : static_cast<std::size_t>(mine - operand.memory->part(group_.node.rank()));
  std::vector<std::byte*> arrays;
  arrays.reserve(static_cast<std::size_t>(group_.node.size()));
  for (int r = 0; r < group_.node.size(); ++r)
    arrays.push_back(staged ? group_.channel->buffer(r) : operand.memory->part(r) + offset);
  if (staged) std::memcpy(group_.channel->buffer(group_.node.rank()), mine, count * width);
  // A place is the offset in a staged array, or number + 1 and offset in a shared memory (less than 2^48 bytes): ranks
  // that reduce tensors of different memories, or one staged and one not, have different signatures.
  const double waited_s =
      group_.channel->barrier(signature_of(operand, staged ? first : (operand.memory_number + 1) << 48 | offset));
  reduce_arrays(arrays, count, operand);
  group_.channel->barrier();
  if (staged) std::memcpy(mine, group_.channel->buffer(group_.node.rank()), count * width);
  return waited_s;
}

void NodeAllReduce::reduce_arrays(const std::vector<std::byte*>& arrays, std::size_t count,
                                  const ReduceOperand& operand) {
  const auto slice = static_cast<std::size_t>(group_.node.rank()), slices = static_cast<std::size_t>(group_.num_slices);
  if (slice >= slices) return;
  const auto bound = [&](std::size_t s) {
    return s == slices ? count : count * s / slices / kSliceElements * kSliceElements;
  };
  const std::size_t begin = bound(slice), end = bound(slice + 1);
  const std::vector<std::byte*> to = targets(arrays, operand.options.root);
  const CommDtype comm_dtype = operand.options.comm_dtype;
  if (group_.num_nodes == 1) return reduce_in_rank_order(arrays, to, begin, end, operand.type, comm_dtype);
  // Between nodes the own array is the accumulator: no other rank reads or writes slice `slice` of it before step 3.
  std::byte* mine = arrays[slice];
  const std::array<std::byte*, 1> here{mine};
  reduce_in_rank_order(arrays, here, begin, end, operand.type, comm_dtype);
  std::byte* start = mine + begin * c10::elementSize(operand.type);
  if (operand.type == at::kBFloat16)  // MPI has no such type
    comm_dtype_all_reduce_.all_reduce(reinterpret_cast<std::uint16_t*>(start), end - begin, CommDtype::bf16);
  else if (comm_dtype == CommDtype::same)
    segmented_all_reduce_.all_reduce(start, end - begin, c10::elementSize(operand.type), add_of(operand.type));
  else
    comm_dtype_all_reduce_.all_reduce(reinterpret_cast<float*>(start), end - begin, comm_dtype);
  reduce_in_rank_order(here, to, begin, end, operand.type);
}

std::vector<std::byte*> NodeAllReduce::targets(const std::vector<std::byte*>& arrays, std::optional<int> root) const {
  if (!root) return arrays;
  std::vector<std::byte*> only;
  for (std::size_t r = 0; r < arrays.size(); ++r)
    if (group_.node_ranks[r] == *root) only.push_back(arrays[r]);
  return only;
}

SmallAllReduce::SmallAllReduce(const Communicator& all, const Communicator& node) : all_(all.duplicate()) {
  // With several nodes MPI knows the way.
  if (all.allreduce(node.size(), ReduceOp::min) == all.size())
    channel_ = open_channel(node, 2 * kMaxBytes, WaitPolicy::spin);
}

double SmallAllReduce::all_reduce(std::byte* data, std::size_t count, at::ScalarType type) {
  if (count == 0) return 0;
  if (!channel_) {
    mpi_all_reduce(data, count, type, all_);
    return all_.size() == 1 ? 0 : kUnknown;
  }
  // A buffer is filled again two sums later, when all ranks have come to the sum between and thus left this one.
  const std::size_t offset = turn_++ % 2 * kMaxBytes, bytes = count * c10::elementSize(type);
  std::vector<std::byte*> arrays;
  arrays.reserve(static_cast<std::size_t>(channel_->size()));
  for (int r = 0; r < channel_->size(); ++r)
    arrays.push_back(channel_->buffer(r) + offset);
  std::memcpy(arrays[static_cast<std::size_t>(channel_->rank())], data, bytes);
  const double waited_s = channel_->barrier({static_cast<std::uint64_t>(type), count, turn_});
  const std::array<std::byte*, 1> here{data};
  reduce_in_rank_order(arrays, here, 0, count, type);
  return waited_s;
}

}  // namespace multicard
