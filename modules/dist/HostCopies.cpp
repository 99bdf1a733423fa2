#include "dist/HostCopies.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "comm/Native.hpp"

namespace multicard {

namespace {

/// Two buffers stay in a second-level cache.
constexpr std::size_t kNodePieceBytes = std::size_t{256} << 10;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMpiPieceBytes = std::size_t{4} << 20;

enum class Copy : std::uint64_t { broadcast = 0x100, scatter = 0x200 };  // apart from the element types of sums

OpSignature signature_of(Copy copy, int root, std::size_t count, std::size_t first) {
  return {static_cast<std::uint64_t>(copy) + static_cast<std::uint64_t>(root), count, first};
}

/// Blocks as one row of bytes, to be passed once from its start to its end.
class Passage {
 public:
  explicit Passage(std::span<const Bytes> blocks) : blocks_(blocks) {}

  void read(std::byte* to, std::size_t count) {
    advance(count, [&](std::byte* data, std::size_t n) {
      std::memcpy(to, data, n);
      to += n;
    });
  }
  void write(const std::byte* from, std::size_t count) {
    advance(count, [&](std::byte* data, std::size_t n) {
      std::memcpy(data, from, n);
      from += n;
    });
  }

 private:
  template <class Body>
  void advance(std::size_t count, const Body& body) {
    while (count > 0) {
      const Bytes& block = blocks_[block_];
      const std::size_t n = std::min(count, block.count - offset_);
      if (n > 0) body(block.data + offset_, n);
      count -= n;
      offset_ += n;
      if (offset_ < block.count) continue;
      block_ += 1;
      offset_ = 0;
    }
  }

  std::span<const Bytes> blocks_;
  std::size_t block_ = 0, offset_ = 0;
};

std::size_t total_of(std::span<const Bytes> blocks) {
  std::size_t total = 0;
  for (const Bytes& block : blocks)
    total += block.count;
  return total;
}

}  // namespace

HostCopies::HostCopies(const Communicator& all, const Communicator& node) : all_(all.duplicate()) {
  // The smallest node has all ranks only if there is one node; so all ranks decide alike.
  if (all.size() > 1 && all.allreduce(node.size(), ReduceOp::min) == all.size())
    channel_ = NodeChannel::create(node, 2 * kNodePieceBytes, WaitPolicy::spin);
}

std::byte* HostCopies::buffer(int rank) const {
  return channel_->buffer(rank) + turn_ % 2 * kNodePieceBytes;
}

double HostCopies::broadcast(std::span<const Bytes> blocks, int root) {
  if (all_.size() == 1) return 0;
  const std::size_t total = total_of(blocks), most = channel_ ? kNodePieceBytes : kMpiPieceBytes;
  if (!channel_) piece_.resize(std::min(total, most));
  const bool sends = all_.rank() == root;
  double waited_s = channel_ ? 0 : kUnknown;
  Passage passage(blocks);
  for (std::size_t first = 0; first < total; first += most) {
    const std::size_t count = std::min(most, total - first);
    std::byte* piece = channel_ ? buffer(root) : piece_.data();
    // One barrier a piece: while the others copy piece n out, the root fills n + 1 into its other buffer. It cannot
    // fill n + 2 before they come to the barrier of n + 1, which each enters after it has copied n.
    if (sends) passage.read(piece, count);
    if (channel_) {
      const double waited_here_s = channel_->barrier(signature_of(Copy::broadcast, root, total, first));
      if (first == 0) waited_s = waited_here_s;
    } else {
      call_mpi(MpiFunction::bcast, count,
               [&] { return MPI_Bcast(piece, static_cast<int>(count), MPI_BYTE, root, native(all_)); });
    }
    if (!sends) passage.write(piece, count);
    ++turn_;
  }
  return waited_s;
}

double HostCopies::scatter(const std::byte* all, std::byte* mine, const std::vector<std::size_t>& counts, int root) {
  const auto me = static_cast<std::size_t>(all_.rank()), from = static_cast<std::size_t>(root);
  std::vector<std::size_t> starts;
  std::size_t longest = 0, total = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    starts.push_back(total);
    total += counts[r];
    if (r != from) longest = std::max(longest, counts[r]);
  }
  if (me == from && counts[me] > 0) std::memcpy(mine, all + starts[me], counts[me]);
  if (!channel_) {
    scatter_over_mpi(all, mine, counts, root);
    return all_.size() == 1 ? 0 : kUnknown;
  }
  double waited_s = 0;
  // A buffer is the inbox of its rank here: the root writes into those of the others. Ranks whose share is shorter
  // enter the barriers of the longest one too.
  for (std::size_t first = 0; first < longest; first += kNodePieceBytes) {
    const auto length = [&](std::size_t r) {
      return r == from || counts[r] <= first ? 0 : std::min(kNodePieceBytes, counts[r] - first);
    };
    for (std::size_t r = 0; me == from && r < counts.size(); ++r)
      if (length(r) > 0) std::memcpy(buffer(static_cast<int>(r)), all + starts[r] + first, length(r));
    const double waited_here_s = channel_->barrier(signature_of(Copy::scatter, root, total, first));
    if (first == 0) waited_s = waited_here_s;
    if (me != from && length(me) > 0) std::memcpy(mine + first, buffer(all_.rank()), length(me));
    ++turn_;
  }
  return waited_s;
}

// Not MPI_Scatterv, whose displacements are ints: a batch may be larger than 2 GB. Pieces of one share have one tag;
// between two ranks messages are received in the order sent.
void HostCopies::scatter_over_mpi(const std::byte* all, std::byte* mine, const std::vector<std::size_t>& counts,
                                  int root) {
  const auto pieces = [](std::size_t count, const auto& body) {
    for (std::size_t first = 0; first < count; first += kMaxTransferBytes)
      body(first, static_cast<int>(std::min(kMaxTransferBytes, count - first)));
  };
  if (all_.rank() != root) {
    pieces(counts[static_cast<std::size_t>(all_.rank())], [&](std::size_t first, int count) {
      call_mpi(MpiFunction::recv, static_cast<std::size_t>(count),
               [&] { return MPI_Recv(mine + first, count, MPI_BYTE, root, 0, native(all_), MPI_STATUS_IGNORE); });
    });
    return;
  }
  std::vector<MPI_Request> requests;
  for (std::size_t r = 0; r < counts.size(); all += counts[r++]) {
    if (static_cast<int>(r) == root) continue;
    pieces(counts[r], [&](std::size_t first, int count) {
      call_mpi(MpiFunction::isend, static_cast<std::size_t>(count), [&] {
        return MPI_Isend(all + first, count, MPI_BYTE, static_cast<int>(r), 0, native(all_), &requests.emplace_back());
      });
    });
  }
  call_mpi(MpiFunction::waitall, 0,
           [&] { return MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE); });
}

}  // namespace multicard
