#pragma once
/// \file Memory that the ranks of one node see together; for modules/dist only.

#include <cstddef>
#include <memory>

#include "comm/Communicator.hpp"

namespace multicard {

/// One zeroed part for each rank of a node, all parts mapped by all of them. POSIX shared memory rather than an MPI
/// window: a window must be freed by all ranks together, a mapping dies with its last local user (a tensor, say).
class SharedMemory {
 public:
  /// Collective over `node`. Null, on all ranks, when the system does not give it (no room in /dev/shm, no common
  /// /dev/shm).
  static std::shared_ptr<SharedMemory> create(const Communicator& node, std::size_t bytes_per_rank);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// The part of a rank of the node; starts on a page.
  std::byte* part(int rank) const { return base_ + static_cast<std::size_t>(rank) * stride_; }
  int own_rank() const { return own_rank_; }

  /// Whether [address, address + bytes) lies in the own part.
  bool owns(const void* address, std::size_t bytes) const;

 private:
  SharedMemory(std::byte* base, std::size_t stride, std::size_t total, int own_rank);

  std::byte* base_;
  std::size_t stride_, total_;
  int own_rank_;
};

}  // namespace multicard
