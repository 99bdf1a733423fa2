#pragma once
/// \file What the ranks of a node need to work on shared memory together; for modules/dist only.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/Communicator.hpp"
#include "dist/NodeBarrier.hpp"
#include "dist/SharedMemory.hpp"

namespace multicard {

/// The operation that a rank enters: equal on all ranks, or the program has gone wrong.
struct OpSignature {
  std::uint64_t operation = 0;  ///< kind, element type, root
  std::uint64_t count = 0;      ///< elements
  std::uint64_t place = 0;      ///< where in shared memory
  bool operator==(const OpSignature&) const = default;
};

/// A barrier and a buffer for each rank, for one thread of each rank.
class NodeChannel {
 public:
  /// Collective over `node`. Null, on all ranks, without shared memory.
  static std::unique_ptr<NodeChannel> create(const Communicator& node, std::size_t buffer_bytes,
                                             WaitPolicy wait_policy);

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::byte* buffer(int rank) const;

  /// Collective. Barrier; throws CommunicationError when a rank has aborted or enters another operation. \return the
  /// seconds that this rank has waited for the last one
  double barrier(const OpSignature& signature);
  /// Collective. Barrier; throws CommunicationError when a rank has aborted.
  void barrier();
  /// Ends all waiting, here and on the other ranks, with an error. Not collective.
  void abort();

 private:
  struct Header;
  NodeChannel(std::shared_ptr<SharedMemory> memory, const Communicator& node, WaitPolicy wait_policy);
  Header& header(int rank) const;

  std::shared_ptr<SharedMemory> memory_;
  int rank_, size_;
  WaitPolicy wait_policy_;
  std::size_t turn_ = 0;
};

}  // namespace multicard
