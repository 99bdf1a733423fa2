#pragma once
/// \file GPUs of nodes, and which of them a task has.

#include <limits>
#include <vector>

namespace multicard {

/// Equal nodes with equal GPUs.
struct Machine {
  int nodes = 1;
  int gpus_per_node = 1;
  double memory_gb = std::numeric_limits<double>::infinity();  ///< of a GPU

  int gpus() const { return nodes * gpus_per_node; }
};

/// GPUs of one node.
struct NodeShare {
  int node = 0;
  int gpus = 0;
  int first = 0;  ///< of the node's GPUs, where they are consecutive; 0 where only their number matters

  bool operator==(const NodeShare&) const = default;
};

/// The GPUs of one task, in the order of its ring; none where it does not run.
using Placement = std::vector<NodeShare>;

inline int gpus_of(const Placement& placement) {
  int sum = 0;
  for (const NodeShare& share : placement)
    sum += share.gpus;
  return sum;
}

}  // namespace multicard
