#pragma once
/// \file Who decides which tasks get which GPUs.

#include <string>
#include <vector>

#include "scheduling/policy/TaskView.hpp"

namespace multicard {

/// Tasks that came and have not ended, in the order in which they came.
using ActiveTasks = std::vector<const TaskView*>;

/// What is to happen, and why.
struct Decision {
  std::vector<Placement> placements;  ///< of each task; none: it waits
  std::string reason;
  double gain = 0;    ///< share by which the objective gets better, the cost counted; 0 where none was computed
  double cost_s = 0;  ///< seconds that the moves are predicted to take; 0 where that was not computed
};

/// A policy over the life of a job or of one replay. It may keep a state from decision to decision.
class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;

  /// The places of `tasks` from `now` on, one each. \param now seconds since the beginning
  virtual Decision decide(double now, const ActiveTasks& tasks) = 0;

 protected:
  SchedulingPolicy() = default;
  SchedulingPolicy(const SchedulingPolicy&) = default;
  SchedulingPolicy& operator=(const SchedulingPolicy&) = default;
};

/// The places of `counts` GPUs a task, over as many nodes as they say (place() of a Layout).
std::vector<Placement> place(const Layout& layout, const ActiveTasks& tasks, const std::vector<RanksOnNodes>& counts);
/// The same with open numbers of nodes.
std::vector<Placement> place(const Layout& layout, const ActiveTasks& tasks, const std::vector<int>& counts);

/// The numbers of the tasks, those with the least attained service first.
std::vector<std::size_t> least_served_first(const ActiveTasks& tasks);

}  // namespace multicard
