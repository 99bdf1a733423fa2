#pragma once
/// \file Reduce-scatter over ranks through the shared memory of nodes; for modules/dist only.

#include <cstddef>
#include <vector>

#include "dist/NodeAllReduce.hpp"
#include "dist/NodeGroup.hpp"

namespace multicard {

/// Reduces large arrays of one equal part for each rank. The ranks of a node add its arrays first, in rank order; the
/// sums of nodes go to the owners of the parts, each of which adds them in the order of nodes: the bits of
/// NodeAllReduce, for half its bytes. Where nodes differ in their number of ranks it is an all-reduce.
class NodeReduceScatter {
 public:
  /// \param all_reduce of the same group; both are used as long as this
  NodeReduceScatter(const NodeGroup& group, NodeAllReduce& all_reduce) : group_(group), all_reduce_(all_reduce) {}

  /// Collective over all. In place: the part of this rank gets the sum, the others are unspecified. The options have no
  /// root; the count is a multiple of the number of ranks. \return as NodeAllReduce::all_reduce()
  double reduce_scatter(const ReduceOperand& operand);

 private:
  /// Of one node whose arrays lie in shared memory.
  double add_arrays(const ReduceOperand& operand);
  /// Elements [first, first + count) of all parts, by way of buffers. Returns as reduce_scatter().
  double reduce_piece(const ReduceOperand& operand, std::size_t first, std::size_t count);
  std::byte* buffer(int node_rank);
  /// The sum of the node for the part of `rank`, of buffers that hold `count` elements of each part.
  void add_on_node(const ReduceOperand& operand, int rank, std::size_t count, std::byte* sum);
  /// The sum for the own part, from sums of nodes of which row n is for node n's partner.
  void add_across(const ReduceOperand& operand, std::size_t count, std::byte* total);
  /// A matrix of one row for each node.
  std::vector<std::byte*> rows_of(std::vector<std::byte>& matrix) const;
  /// Row n goes to node n's partner, and comes from it.
  void exchange_rows(std::vector<std::byte>& matrix);

  const NodeGroup& group_;
  NodeAllReduce& all_reduce_;
  std::vector<std::byte> stage_;  ///< takes the place of the channel's buffer where there is one rank
  std::vector<std::byte> sums_;   ///< see add_across()
  std::vector<std::byte> words_;  ///< those in 16 bits
  std::vector<std::byte> received_;
};

}  // namespace multicard
