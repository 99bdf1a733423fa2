#pragma once
/// \file The ranks of a node and their partners on other nodes; for modules/dist only.

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/Communicator.hpp"
#include "dist/NodeChannel.hpp"

namespace multicard {

/// Of one thread of each rank. What the operations on large arrays have in common: inside a node they go through shared
/// memory, between nodes the ranks that have the same slice of an array talk to each other.
struct NodeGroup {
  /// Of the buffers of the channel.
  static constexpr std::size_t kStageBytes = std::size_t{4} << 20;

  /// Collective. `all` has a message space for this thread alone; `node`: the ranks of this node, by rank. Each rank is
  /// a node of its own, and there is a warning, where the system gives no shared memory.
  NodeGroup(const Communicator& all, const Communicator& node);

  int rank() const { return node.rank(); }
  /// Whether all nodes have as many ranks.
  bool is_even() const { return num_slices * num_nodes == all.size(); }
  /// Rank in `all` of a rank of this node's partner on another. \pre is_even()
  int partner(int node_rank, int node_number) const {
    return partners[static_cast<std::size_t>(node_rank) * static_cast<std::size_t>(num_nodes) +
                    static_cast<std::size_t>(node_number)];
  }

  Communicator all;
  Communicator node;
  std::unique_ptr<NodeChannel> channel;  ///< null for one rank
  int num_nodes = 1;
  int num_slices = 1;              ///< the ranks of the smallest node
  std::vector<int> node_ranks;     ///< rank in `all` of each rank of this node
  std::vector<int> across_ranks;   ///< rank in `all` of each of `across`
  Communicator across;             ///< the ranks of other nodes that have this rank's slice, in the order of nodes
  std::vector<int> partners = {};  ///< see partner(); empty where nodes are uneven
};

}  // namespace multicard
