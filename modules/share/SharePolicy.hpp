#pragma once
/// \file Who gets how many ranks next.

#include <optional>
#include <string>
#include <vector>

#include "scaling/SplitProblem.hpp"
#include "share/ShareOptions.hpp"

namespace multicard {

/// What a decision knows of a task that has not ended.
struct TaskView {
  std::string name;
  double steps_left = 0;
  double weight = 1;
  int min_ranks = 1, max_ranks = 1;
  int ranks = 0;        ///< that it has now
  int first_rank = 0;   ///< of those
  int fixed_ranks = 0;  ///< by the policy fixed
  RateTable rates;      ///< steps per second by ranks, measured or predicted; empty: nothing is known of it yet
  double move_s = 0;    ///< seconds that moving it takes
};

/// What is to happen, and why.
struct ShareDecision {
  std::vector<int> ranks;  ///< of each task
  double gain = 0;         ///< share by which the objective gets better, the cost counted; 0 where that was not asked
  double cost_s = 0;       ///< seconds that the moves take
  std::string reason;

  bool is_change(const std::vector<TaskView>& tasks) const;
};

/// How tasks that have not ended share `num_ranks` ranks from now on.
///
/// - fixed, equal: each as many as the policy gives it, in order, as long as ranks are left; others wait.
/// - sequential: the first task all ranks that it may have.
/// - adaptive: where nothing is known of a task, it gets its equal share, to be measured. Else the split that the best
///   schedule begins with (allocate()) replaces the present one if the objective gets better by `min_gain` although the
///   moves take time. Keeping the present split is worth what it gives until the first task ends, and the best schedule
///   from then on.
///
/// \param equal_share ranks of a task under equal and for a first measurement
ShareDecision decide(const SharePolicyOptions& policy, Objective objective, const std::vector<TaskView>& tasks,
                     int num_ranks);

/// Steps per second on so many ranks; 0 where that is not known.
double rate_on(const TaskView& task, int ranks);

/// The objective's value of keeping `ranks` until the first task ends and doing the best from then on; nullopt where no
/// task would end.
std::optional<double> value_of_keeping(Objective objective, const std::vector<TaskView>& tasks,
                                       const std::vector<int>& ranks, int num_ranks);

}  // namespace multicard
