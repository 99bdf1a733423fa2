#pragma once
/// \file The order of phases that disturbs tasks least.

#include <cstddef>
#include <vector>

#include "scheduling/solve/Schedule.hpp"

namespace multicard {

/// Sorts phases of the same stage (equal stages follow each other) so that tasks pause seldom and, of equal orders,
/// change their GPUs seldom. Exchanges two phases as long as that helps.
void order_phases(std::vector<SplitPhase>& phases, const std::vector<std::size_t>& stages);

}  // namespace multicard
