#pragma once
/// \file Which GPUs of which nodes.

#include <optional>
#include <vector>

#include "scheduling/solve/SearchBudget.hpp"
#include "scheduling/solve/SplitProblem.hpp"

namespace multicard {

/// Puts a split on the nodes: tasks that are bound to a number of nodes on exactly that many, others on as few as are
/// left, by node. Finds a placement wherever there is one, as long as the search for it ends within some ten thousand
/// steps; nullopt where there is none, or the search did not end.
///
/// Bound tasks are placed by depth-first search, those with the most GPUs a node first, as even as possible first; of
/// nodes with equally many free GPUs only the first is tried. What then remains is enough for the others in any order.
std::optional<std::vector<Placement>> place(const Split& split, const Machine& machine);

/// Whether place() finds one.
enum class Placeable { yes, no, unknown };  ///< unknown: the search did not end
/// At the cost of `budget`.
Placeable can_place(const Split& split, const Machine& machine, SearchBudget& budget);

}  // namespace multicard
