#pragma once
/// \file One split of the machine for the whole time.

#include <optional>

#include "scheduling/solve/SearchBudget.hpp"
#include "scheduling/solve/SplitProblem.hpp"

namespace multicard {

/// The best split of the machine in which all tasks start together and keep their GPUs, for tables of any shape;
/// nullopt where there is none: a task that has to run cannot, or not all at once. Equal problems have equal splits.
///
/// - weighted throughput and average completion: the smallest sum (SumSplit), exact to rounding;
/// - makespan and fairness: lexicographic_split(), so that what the slowest task leaves is of use to the others.
///
/// Where choices are bound to numbers of nodes, the split can be placed, and PlacedSplit searches for it.
/// Both searches and the placements take from the budget, and what was found by its end counts.
std::optional<Split> best_static_split(const AllocationProblem& problem, SearchBudget& budget);
/// The same with a budget of its own.
std::optional<Split> best_static_split(const AllocationProblem& problem);

/// No static split has a better value: that of the best split if tasks could be put anywhere.
double static_bound(const AllocationProblem& problem);

/// What users do by hand: floor(GPUs / tasks) for each, one more for the first tasks while they last, and of these the
/// largest usable number. nullopt where a task has none, or where it cannot be placed.
std::optional<Split> equal_split(const AllocationProblem& problem, SearchBudget& budget);

}  // namespace multicard
