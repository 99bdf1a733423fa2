#pragma once
/// \file GPUs of nodes, and which of them a task has.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace multicard {

/// Nodes with equal GPUs.
struct Machine {
  int nodes = 1;
  int gpus_per_node = 1;                                       ///< of the fullest node
  double memory_gb = std::numeric_limits<double>::infinity();  ///< of a GPU
  std::vector<int> gpus_of_nodes = {};                         ///< where nodes differ; empty: all have gpus_per_node

  int gpus_of(int node) const {
    return gpus_of_nodes.empty() ? gpus_per_node : gpus_of_nodes[static_cast<std::size_t>(node)];
  }
  int gpus() const {
    return gpus_of_nodes.empty() ? nodes * gpus_per_node
                                 : std::accumulate(gpus_of_nodes.begin(), gpus_of_nodes.end(), 0);
  }
  /// Of the `number` nodes with the most GPUs.
  int most_gpus_on(int number) const {
    if (gpus_of_nodes.empty()) return std::min(number, nodes) * gpus_per_node;
    std::vector<int> sorted = gpus_of_nodes;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    return std::accumulate(sorted.begin(), sorted.begin() + std::min(number, nodes), 0);
  }
  /// Nodes with GPUs.
  int nodes_in_use() const {
    if (gpus_of_nodes.empty()) return nodes;
    return static_cast<int>(
        std::count_if(gpus_of_nodes.begin(), gpus_of_nodes.end(), [](int gpus) { return gpus > 0; }));
  }
  /// The fewest nodes that hold `gpus`; one more than there are where they do not fit.
  int fewest_nodes(int gpus) const {
    int number = 1;
    while (number <= nodes && most_gpus_on(number) < gpus)
      ++number;
    return number;
  }
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

/// How many ranks, over how many nodes. A number alone leaves the nodes open.
struct RanksOnNodes {
  int ranks = 0;
  int nodes = 0;  ///< 0: open, or there is one alone

  RanksOnNodes() = default;
  RanksOnNodes(int number, int of_nodes = 0) : ranks(number), nodes(of_nodes) {}
  bool operator==(const RanksOnNodes&) const = default;
  bool operator<(const RanksOnNodes& other) const {
    return std::tie(ranks, nodes) < std::tie(other.ranks, other.nodes);
  }
};

/// GPUs on each node that a placement uses, most first: the same for all placements that differ in the names of nodes
/// or in their order alone (1+2 is 2+1). A step takes equally long on them.
using NodeCounts = std::vector<int>;

NodeCounts node_counts(const Placement& placement);
/// Sorted, without nodes that have none.
NodeCounts normalised_counts(NodeCounts counts);
/// `gpus` on `nodes` nodes as evenly as the nodes allow, those with the most GPUs first; empty where they do not fit.
NodeCounts even_counts(const Machine& machine, int gpus, int nodes);
/// "4", "2+1".
std::string counts_text(const NodeCounts& counts);
/// What counts_text() wrote; empty for other texts.
NodeCounts counts_from(const std::string& text);

}  // namespace multicard
