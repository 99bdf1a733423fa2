#pragma once
/// \file How many ranks each task gets next, by measurements.

#include <string>
#include <vector>

#include "scheduling/policy/SplitValue.hpp"
#include "scheduling/policy/TaskView.hpp"

namespace multicard {

/// How many ranks tasks are to get, and why.
struct SplitDecision {
  std::vector<int> ranks;  ///< of each task
  double gain = 0;         ///< share by which the objective gets better, the cost counted; 0 where none was computed
  double cost_s = 0;       ///< seconds that the moves take
  std::string reason;
  std::vector<int> nodes = {};  ///< over which the ranks of each are spread, 0: open; empty: all are

  std::vector<RanksOnNodes> places() const;
  bool is_change(const std::vector<TaskView>& tasks) const;
};

/// The split of the adaptive policy. On a machine of several nodes it says over how many of them the ranks of a task
/// are spread, too: rates are by ranks and nodes, and the best schedule is one that can be placed on the nodes.
///
/// A new task first gets ranks so that its steps can be timed: free ones if there are any, at most its equal share;
/// else those of tasks that are known, in equal shares, unless one of them ends sooner than the moves would take. It
/// keeps them until it has been measured.
///
/// The others get the split that the best schedule begins with (allocate()), if it makes the objective better by
/// `min_gain` although its moves take time. Keeping the present split is worth what it gives until the first task ends,
/// and the best schedule from then on. For objectives about rates the moves' seconds count as lost training until that
/// end. A split with ranks on which the prediction of a task is not to be relied on is an exploration: it has to pay
/// for the way back too, and is compared with the best one without.
SplitDecision decide_adaptively(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                const Layout& layout);

}  // namespace multicard
