#pragma once
/// \file Which ranks share a node.

#include <string>
#include <vector>

#include "comm/Communicator.hpp"

namespace multicard {

/// Where this rank and the others run. Found through MPI (ranks that can share memory), not through the environment.
struct Topology {
  Communicator node;       ///< the ranks of this node
  int local_rank = 0;      ///< within the node
  int job_local_rank = 0;  ///< of all ranks of the job on this node, whatever the communicator: what GPUs are chosen by
  int local_size = 1;
  int num_nodes = 1;
  std::vector<std::string> hosts;  ///< host name of each rank; several nodes may have the same
  std::vector<int> nodes;          ///< of each rank: the first rank of its node
};

/// Collective.
Topology find_topology(const Communicator& communicator);

}  // namespace multicard
