#pragma once
/// \file Which nodes, with as few moves as possible.

#include <optional>
#include <tuple>
#include <vector>

#include "config/Words.hpp"
#include "scheduling/solve/SplitProblem.hpp"

namespace multicard {

/// GPUs of a task on each node of the machine.
using GpusByNode = std::vector<int>;

/// Over how many nodes tasks are spread that are not bound to a number of them.
enum class Spread { packed, spread };  ///< as few as possible, as many as possible
inline constexpr Word<Spread> kSpreadWords[] = {{"packed", Spread::packed}, {"spread", Spread::spread}};

/// What a placement costs; compared in this order.
struct PlacementCost {
  int moves =
      0;  ///< tasks that keep their number of GPUs (and of nodes, where they are bound to one), but not their place
  int nodes = 0;   ///< that unbound tasks which move use more (Spread::spread: fewer) than possible; bound ones 0
  int gained = 0;  ///< GPUs that tasks get where they had none

  bool operator==(const PlacementCost&) const = default;
  bool operator<(const PlacementCost& other) const {
    return std::tie(moves, nodes, gained) < std::tie(other.moves, other.nodes, other.gained);
  }
};

/// The places of a split on the nodes, bound tasks on exactly their number of nodes, with the least cost. Depth-first
/// search with the cost so far as bound: exact where it ends within some ten thousand steps, which it does for a few
/// tasks on a few nodes. Beyond that the best found by then counts, and where none was found, what place() finds.
/// nullopt where that finds none either. \param before places that tasks have now, none: empty
std::optional<std::vector<GpusByNode>> place_near(const Split& split, const Machine& machine,
                                                  const std::vector<GpusByNode>& before,
                                                  Spread spread = Spread::packed);

/// The cost of `after`.
PlacementCost placement_cost(const Split& split, const Machine& machine, const std::vector<GpusByNode>& before,
                             const std::vector<GpusByNode>& after, Spread spread = Spread::packed);

}  // namespace multicard
