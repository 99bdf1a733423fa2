#pragma once
/// \file The best split as a mixed-integer program, solved by COIN-OR CBC where that is installed.

#include <optional>

#include "scheduling/solve/SplitProblem.hpp"

namespace multicard::test {

bool has_cbc();

/// With x_jc = 1 where task j takes choice c: Σ_c x_jc = 1 for each task and Σ_jc g_c x_jc at most the GPUs, with the
/// smallest sum of costs or, for makespan and fairness, the smallest t that no task's cost exceeds. nullopt where no
/// split fits. For machines of one node.
std::optional<Split> cbc_split(const AllocationProblem& problem);

}  // namespace multicard::test
