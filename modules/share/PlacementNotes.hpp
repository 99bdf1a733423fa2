#pragma once
/// \file What a decision about nodes rests on, for the record and the log of a share.

#include <string>
#include <vector>

#include "results/AllocationRecord.hpp"
#include "scheduling/policy/TaskView.hpp"

namespace multicard {

/// "1 node", "2 nodes (2+1)".
std::string nodes_text(const NodeCounts& counts);

/// Times of a step of tasks on the ranks that they get, over the nodes that were chosen and over other numbers of them.
struct PlacementNotes {
  std::string key;  ///< of these tasks and places
  std::vector<AllocationPlacement> rows;
  std::vector<std::string> lines;  ///< for the log, one a task

  /// Nothing where no other number of nodes is possible, or a time is not known.
  void add(const TaskView& task, const NodeCounts& chosen, const Machine& machine, double now);
};

}  // namespace multicard
