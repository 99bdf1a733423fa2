#pragma once
/// \file How fast the links between ranks are, by timed all-reduces.

#include <cstdint>
#include <optional>

#include <c10/core/Device.h>

#include "comm/Communicator.hpp"
#include "comm/Topology.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// All-reduces of one size, each by the time of its slowest rank.
struct AllReduceTime {
  std::int64_t num_bytes = 0;
  double median_s = 0;
  double low_s = 0, high_s = 0;  ///< 95 % interval of the median, from the order of the times (binomial)
  int num_rounds = 0;

  /// Bandwidth as NCCL's tests define it for a bus: each rank of a ring sends and receives 2 (n - 1) / n of the volume.
  double bus_bytes_per_s(int num_ranks) const;
};

/// Collective over `ranks`, those of `collectives`. Times all-reduces of `num_values` float32 values until the interval
/// is no wider than a tenth of the median, at most 200 of them or some 0.3 s; 9 at least.
AllReduceTime time_all_reduce(TensorCollectives& collectives, const Communicator& ranks, std::int64_t num_values);

/// The links of one level.
struct LinkSpeed {
  int num_ranks = 0;       ///< that took part
  AllReduceTime shortest;  ///< of 4 kB: latency
  AllReduceTime longest;   ///< of 4 MB: bandwidth
};

/// A level that the job does not have is absent.
struct LinkSpeeds {
  std::optional<LinkSpeed> within_node;    ///< between the ranks of the fullest node, while other nodes measure theirs
  std::optional<LinkSpeed> between_nodes;  ///< between the first ranks of the nodes
};

/// Collective over `world`. Rank 0 gets all levels, others those that they are on. \throws CommunicationError as
/// TensorCollectives
LinkSpeeds measure_link_speeds(const Communicator& world, const Topology& topology, at::Device device);

}  // namespace multicard
