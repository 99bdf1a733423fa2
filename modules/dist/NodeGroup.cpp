#include "dist/NodeGroup.hpp"

#include <algorithm>
#include <span>

#include "base/Log.hpp"

namespace multicard {

NodeGroup::NodeGroup(const Communicator& all_ranks, const Communicator& node_ranks_of)
    : all(all_ranks),
      node(node_ranks_of),
      channel(node.size() > 1 ? NodeChannel::create(node, kStageBytes, WaitPolicy::sleep) : nullptr),
      across(Communicator::null()) {
  const bool works = channel || node.size() == 1;
  if (all.allreduce(works ? 1 : 0, ReduceOp::min) == 0) {
    log_warning("the ranks of a node could not get shared memory (is /dev/shm full?): all-reduces go through MPI");
    channel.reset();
    // Each rank becomes a node of its own, on all nodes alike: everything takes the way between nodes then.
    node = node.split(node.rank(), 0, Watched::together);
  }
  // As many slices as the smallest node has ranks: rank s of every node then has the same slice s. The ranks of larger
  // nodes that are left over get a group of their own, which they never use.
  num_slices = all.allreduce(node.size(), ReduceOp::min);
  num_nodes = all.allreduce(node.rank() == 0 ? 1 : 0, ReduceOp::sum);
  node_ranks = node.allgather(all.rank());
  across = all.split(std::min(node.rank(), num_slices), node_ranks.front(), Watched::together);
  across_ranks = across.allgather(all.rank());
  if (is_even()) partners = node.allgather(std::span<const int>(across_ranks));
}

}  // namespace multicard
