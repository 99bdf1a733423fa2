#pragma once
/// \file Which GPUs tasks have, and which they get when their numbers change.

#include <vector>

#include "scheduling/rates/Machine.hpp"

namespace multicard {

/// Consecutive ranks of the job; count 0: none.
struct RankRange {
  int first = 0;
  int count = 0;

  bool contains(int rank) const { return rank >= first && rank < first + count; }
  bool operator==(const RankRange&) const = default;
};

/// Consecutive ranks for each task, as many as `counts` says, of `num_ranks` in all. Tasks whose count stays keep their
/// ranks, the others are put into the gaps, where they were if possible; only where the gaps are too small for that do
/// all tasks move together. \throws std::logic_error when the counts do not fit
std::vector<RankRange> lay_out(const std::vector<int>& counts, const std::vector<RankRange>& before, int num_ranks);

/// Ranks are numbered node by node.
Placement placement_of(const RankRange& range, int ranks_per_node);
/// \pre the placement is one of consecutive ranks
RankRange range_of(const Placement& placement, int ranks_per_node);

/// How tasks find their places.
enum class PlacementRule {
  consecutive,     ///< lay_out()
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
  int num_gpus = 1;  ///< of the machine, whose last node may have fewer than the others
  PlacementRule rule = PlacementRule::consecutive;
  MoveOrder moves = MoveOrder::in_turn;

  /// Of a job of ranks that share moves.
  static Layout of_ranks(int num_ranks, int ranks_per_node);
  /// Of a cluster whose jobs are restarted.
  static Layout of_cluster(const Machine& machine, PlacementRule rule = PlacementRule::largest_first);
};

/// The places of `counts` GPUs a task.
std::vector<Placement> place(const Layout& layout, const std::vector<Placement>& before,
                             const std::vector<int>& counts);

}  // namespace multicard
