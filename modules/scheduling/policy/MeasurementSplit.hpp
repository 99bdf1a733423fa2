#pragma once
/// \file Ranks for tasks of which nothing is known.

#include <vector>

#include "scheduling/policy/AdaptiveSplit.hpp"

namespace multicard {

/// Gives a task of which nothing is known, and which waits, ranks to be measured on: free ones if there are any, else
/// those of tasks that are known, in equal shares, unless enough ranks become free sooner than the moves would take. No
/// change where no such task waits, or it is to wait longer (with the reason).
SplitDecision decide_measurement(const std::vector<TaskView>& tasks, const Layout& layout);

}  // namespace multicard
