#include "dist/NodeChannel.hpp"

#include <array>
#include <new>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"

namespace multicard {

/// At the start of each part; the barrier of rank 0's is the one used.
struct NodeChannel::Header {
  NodeBarrier barrier;
  // Two in turn: a rank writes one again when all have come to the barrier between, thus read it.
  alignas(64) std::array<OpSignature, 2> signatures;
};

namespace {

constexpr std::size_t kHeaderBytes = 4096;  // buffers start on a page

}  // namespace

std::unique_ptr<NodeChannel> NodeChannel::create(const Communicator& node, std::size_t buffer_bytes,
                                                 WaitPolicy wait_policy) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  std::shared_ptr<SharedMemory> memory = SharedMemory::create(node, kHeaderBytes + buffer_bytes);
  if (!memory) return nullptr;
  return std::unique_ptr<NodeChannel>(new NodeChannel(std::move(memory), node, wait_policy));
}

NodeChannel::NodeChannel(std::shared_ptr<SharedMemory> memory, const Communicator& node, WaitPolicy wait_policy)
    : memory_(std::move(memory)), rank_(node.rank()), size_(node.size()), wait_policy_(wait_policy) {
  new (memory_->part(rank_)) Header;
  node.barrier();  // no rank waits before rank 0 has made the barrier
}

NodeChannel::Header& NodeChannel::header(int rank) const {
  return *reinterpret_cast<Header*>(memory_->part(rank));
}

std::byte* NodeChannel::buffer(int rank) const {
  return memory_->part(rank) + kHeaderBytes;
}

void NodeChannel::barrier() {
  if (!header(0).barrier.arrive_and_wait(size_, wait_policy_))
    throw CommunicationError("a collective over the ranks of this node was aborted",
                             "another rank failed or left; see its message");
}

double NodeChannel::barrier(const OpSignature& signature) {
  const std::size_t turn = turn_++ % 2;
  header(rank_).signatures[turn] = signature;
  const TimePoint start = SteadyClock::now();
  barrier();
  const double waited_s = seconds_since(start);
  // Each compares with all, so that where one differs all throw: a rank that did not would work on wrong values.
  for (int r = 0; r < size_; ++r) {
    const OpSignature& other = header(r).signatures[turn];
    if (other != signature)
      throw CommunicationError(
          "ranks of one node entered different collectives",
          fmt::format("operation {:#x} on {} elements at {:#x} here, {:#x} on {} at {:#x} on local rank {}",
                      signature.operation, signature.count, signature.place, other.operation, other.count, other.place,
                      r));
  }
  return waited_s;
}

void NodeChannel::abort() {
  header(0).barrier.abort();
}

}  // namespace multicard
