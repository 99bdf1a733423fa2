#pragma once
/// \file Which GPUs tasks have, and which they get when their numbers change.

#include <vector>

#include "scheduling/policy/RankSet.hpp"
#include "scheduling/rates/Machine.hpp"
#include "scheduling/solve/NearPlacement.hpp"

namespace multicard {

/// Ranks for each task, as many as `counts` says, of `num_ranks` that are alike. Tasks whose count stays keep their
/// ranks, the others are put into the gaps, where they were if possible: consecutive ranks where a gap is large enough,
/// else those they had and the lowest free ones. \throws std::logic_error when the counts do not fit
std::vector<RankSet> lay_out(const std::vector<int>& counts, const std::vector<RankSet>& before, int num_ranks);

/// How tasks find their places.
enum class PlacementRule {
  near,            ///< place_near(), then lay_out() on each node
  largest_first,   ///< those that change, largest first, on as few nodes as possible; the others keep their nodes
  smallest_first,  ///< the same, smallest first, from the node with the most free GPUs
};

/// How tasks change their places.
enum class MoveOrder {
  in_turn,  ///< all stop, and one moves after the other
  at_once   ///< each stops for itself
};

/// How a driver carries out decisions.
struct Layout {
  Machine machine;
  int num_gpus = 1;
  PlacementRule rule = PlacementRule::near;
  MoveOrder moves = MoveOrder::in_turn;
  Spread spread = Spread::packed;
  std::vector<std::vector<int>> ranks_of_nodes = {};  ///< rising; of PlacementRule::near alone

  /// Of a job of ranks that share moves, which are numbered node by node; the last node may have fewer.
  static Layout of_ranks(int num_ranks, int ranks_per_node);
  /// The same with ranks numbered anyhow. \param node_of_rank ranks with equal values share a node
  static Layout of_nodes(const std::vector<int>& node_of_rank);
  /// Of a cluster whose jobs are restarted.
  static Layout of_cluster(const Machine& machine, PlacementRule rule = PlacementRule::largest_first);

  /// Of PlacementRule::near.
  /// @{
  Placement placement_of(const RankSet& ranks) const;
  RankSet ranks_of(const Placement& placement) const;
  /// Whether decisions are about numbers of nodes too.
  bool has_several_nodes() const { return rule == PlacementRule::near && machine.nodes > 1; }
  /// What allocations divide: the nodes where decisions are about them, else all GPUs as if of one.
  Machine divided() const { return has_several_nodes() ? machine : Machine{1, num_gpus}; }
  /// @}
};

/// The places of `counts` GPUs a task, over as many nodes as they say. Where no such places are found, the numbers of
/// nodes are left open.
std::vector<Placement> place(const Layout& layout, const std::vector<Placement>& before,
                             const std::vector<RanksOnNodes>& counts);
/// The same with open numbers of nodes.
std::vector<Placement> place(const Layout& layout, const std::vector<Placement>& before,
                             const std::vector<int>& counts);

}  // namespace multicard
