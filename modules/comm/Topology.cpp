#include "comm/Topology.hpp"

#include "base/System.hpp"
#include "comm/Mpi.hpp"

namespace multicard {

Topology find_topology(const Communicator& communicator) {
  Topology found{communicator.split_by_node(), 0, job_local_rank(), 1, 1, {}, {}};
  found.local_rank = found.node.rank();
  found.local_size = found.node.size();
  // Each node counts once, by its first rank. Host names would not do: containers on several machines may share one.
  found.num_nodes = communicator.allreduce(found.local_rank == 0 ? 1 : 0, ReduceOp::sum);
  found.nodes = communicator.allgather(found.node.broadcast_value(communicator.rank()));
  found.hosts = communicator.allgather(host_name());
  return found;
}

}  // namespace multicard
