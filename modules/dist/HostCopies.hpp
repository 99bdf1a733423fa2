#pragma once
/// \file Copies of host memory from one rank to others; for modules/dist only.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "comm/Communicator.hpp"
#include "dist/NodeChannel.hpp"

namespace multicard {

struct Bytes {
  std::byte* data = nullptr;
  std::size_t count = 0;
};

/// On the calling thread. On one node piece by piece through shared memory, where the root fills one buffer while the
/// others empty another; between nodes through MPI.
class HostCopies {
 public:
  /// Collective.
  HostCopies(const Communicator& all, const Communicator& node);

  /// Collective. Everybody receives root's bytes; the lengths are equal on all ranks. \return the seconds that this
  /// rank has waited until all had entered; NaN over MPI, which does not say
  double broadcast(std::span<const Bytes> blocks, int root);
  /// Collective. Rank r receives counts[r] bytes into `mine`, taken from root's `all`, where they follow each other by
  /// rank; elsewhere `all` is ignored. \return as broadcast()
  double scatter(const std::byte* all, std::byte* mine, const std::vector<std::size_t>& counts, int root);

 private:
  /// The buffer of a rank for the present piece. A buffer is filled again two pieces later, when all ranks have come to
  /// the piece between and thus left this one.
  std::byte* buffer(int rank) const;
  void scatter_over_mpi(const std::byte* all, std::byte* mine, const std::vector<std::size_t>& counts, int root);

  Communicator all_;
  std::unique_ptr<NodeChannel> channel_;  ///< null with several nodes, one rank or no shared memory
  std::size_t turn_ = 0;
  std::vector<std::byte> piece_;  ///< for MPI
};

}  // namespace multicard
