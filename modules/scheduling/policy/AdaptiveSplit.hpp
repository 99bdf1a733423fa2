#pragma once
/// \file How many ranks each task gets next, by measurements.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/policy/TaskView.hpp"
#include "scheduling/solve/Allocation.hpp"

namespace multicard {

/// How many ranks tasks are to get, and why.
struct SplitDecision {
  std::vector<int> ranks;  ///< of each task
  double gain = 0;         ///< share by which the objective gets better, the cost counted; 0 where none was computed
  double cost_s = 0;       ///< seconds that the moves take
  std::string reason;

  bool is_change(const std::vector<TaskView>& tasks) const { return ranks != present_ranks(tasks); }
};

struct AdaptiveOptions {
  Objective objective = Objective::makespan;
  double min_gain = 0.05;  ///< share of the objective below which nothing is changed
  /// Of one search for an allocation: a fraction of a second, because all ranks wait for it.
  std::int64_t most_operations = 100'000'000;
  double most_seconds = 1;
};

/// The split of the adaptive policy.
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

/// The objective's value of keeping `ranks` until the first task ends and doing the best from then on; nullopt where no
/// task would end.
std::optional<double> value_of_keeping(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                       const std::vector<int>& ranks, int num_ranks);

/// What the best schedule of the tasks' remaining steps is worth, and the equal split and one after another; nullopt
/// where nothing is known of a task, or there is no schedule. Moves take no time here.
std::optional<Allocation> expected_values(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                          int num_ranks);

}  // namespace multicard
