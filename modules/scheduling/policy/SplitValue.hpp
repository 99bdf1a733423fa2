#pragma once
/// \file What a split of the ranks is worth.

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduling/policy/TaskView.hpp"
#include "scheduling/solve/Allocation.hpp"

namespace multicard {

struct AdaptiveOptions {
  Objective objective = Objective::makespan;
  double min_gain = 0.05;  ///< share of the objective below which nothing is changed
  /// Of one search for an allocation: a fraction of a second, because all ranks wait for it.
  std::int64_t most_operations = 100'000'000;
  double most_seconds = 1;
};

/// The ranks, and on a machine of several nodes over how many of them they are spread, with which the best schedule
/// begins; nullopt where there is none.
std::optional<std::vector<RanksOnNodes>> best_places(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                                     const Machine& machine);

/// The objective's value of keeping `places` until the first task ends and doing the best from then on; nullopt where
/// no task would end.
std::optional<double> value_of_keeping(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                       const std::vector<RanksOnNodes>& places, const Machine& machine);

/// What the best schedule of the tasks' remaining steps is worth, and the equal split and one after another; nullopt
/// where nothing is known of a task, or there is no schedule. Moves take no time here.
std::optional<Allocation> expected_values(const AdaptiveOptions& options, const std::vector<TaskView>& tasks,
                                          const Machine& machine);

}  // namespace multicard
