#include "scheduling/solve/StaticSplit.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "scheduling/solve/LexicographicSplit.hpp"
#include "scheduling/solve/PlacedSplit.hpp"
#include "scheduling/solve/SumSplit.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMostOperationsOfBound = 200'000'000;

using Indices = std::optional<std::vector<std::size_t>>;
using Choices = std::vector<std::vector<Choice>>;
using Costs = std::vector<std::vector<double>>;

Costs costs_of(const AllocationProblem& problem, const Choices& choices) {
  Costs costs;
  for (std::size_t task = 0; task < choices.size(); ++task) {
    const double best = problem.tasks[task].table.best(problem.machine).rate;
    costs.emplace_back();
    for (const Choice& choice : choices[task])
      costs.back().push_back(cost_of(problem, task, choice, best));
  }
  return costs;
}

/// Numbers tasks so that equal numbers have equal choices and costs.
std::vector<int> kinds_of(const Choices& choices, const CostRanks& ranks) {
  using Key = std::vector<std::tuple<int, int, int>>;
  std::map<Key, int> numbers;
  std::vector<int> kinds;
  for (std::size_t task = 0; task < choices.size(); ++task) {
    Key key;
    for (std::size_t i = 0; i < choices[task].size(); ++i)
      key.emplace_back(choices[task][i].gpus, choices[task][i].nodes, ranks[task][i]);
    kinds.push_back(numbers.try_emplace(std::move(key), static_cast<int>(numbers.size())).first->second);
  }
  return kinds;
}

Indices smallest_sum(const Choices& choices, const Costs& costs, const Machine& machine) {
  std::vector<std::vector<Offer>> offers;
  for (std::size_t task = 0; task < choices.size(); ++task) {
    offers.emplace_back();
    for (std::size_t i = 0; i < choices[task].size(); ++i)
      offers.back().push_back({choices[task][i].gpus, -costs[task][i]});
  }
  const SumSplit sums(std::move(offers), machine.gpus());
  if (sums.best(0, machine.gpus()) == -std::numeric_limits<double>::infinity()) return std::nullopt;
  return sums.chosen(0, machine.gpus());
}

/// With the fewest GPUs each: costs fall with the number of GPUs where no choice is bound to nodes.
Indices fit(const Choices& choices, const CostRanks& ranks, const std::vector<int>& limits, int gpus) {
  std::vector<std::size_t> indices;
  for (std::size_t task = 0; task < choices.size(); ++task) {
    const std::vector<int>& own = ranks[task];
    const auto first = std::partition_point(own.begin(), own.end(), [&](int rank) { return rank > limits[task]; });
    if (first == own.end()) return std::nullopt;
    indices.push_back(static_cast<std::size_t>(first - own.begin()));
    gpus -= choices[task][indices.back()].gpus;
    if (gpus < 0) return std::nullopt;
  }
  return indices;
}

Indices fit_on_nodes(PlacedSplit& placed, const CostRanks& ranks, const std::vector<int>& limits) {
  std::vector<std::vector<std::size_t>> allowed;
  for (std::size_t task = 0; task < ranks.size(); ++task) {
    allowed.emplace_back();
    for (std::size_t i = 0; i < ranks[task].size(); ++i)
      if (ranks[task][i] <= limits[task]) allowed.back().push_back(i);
  }
  return placed.any_of(allowed);
}

/// Of the choices, which are by GPUs, the first within the limit.
FewestGpus fewest_gpus(const Choices& choices, const CostRanks& ranks) {
  return [&](std::size_t task, int limit) {
    const auto first = std::ranges::find_if(ranks[task], [&](int rank) { return rank <= limit; });
    if (first == ranks[task].end()) return std::numeric_limits<int>::max() / 2;
    return choices[task][static_cast<std::size_t>(first - ranks[task].begin())].gpus;
  };
}

/// The smallest sum, or anything that can be placed where the search found nothing.
Indices smallest_placed_sum(PlacedSplit& placed, const Costs& costs, const SearchBudget& budget) {
  PlacedSum found = placed.smallest_sum(costs);
  if (found.indices || budget.end() == SearchEnd::complete) return std::move(found.indices);
  std::vector<std::vector<std::size_t>> all;
  for (const std::vector<double>& of_task : costs) {
    all.emplace_back(of_task.size());
    std::iota(all.back().begin(), all.back().end(), std::size_t{0});
  }
  return placed.any_of(all);
}

Indices solve(const AllocationProblem& problem, const Choices& choices, SearchBudget& budget) {
  const Costs costs = costs_of(problem, choices);
  const bool is_sum =
      problem.objective == Objective::weighted_throughput || problem.objective == Objective::average_completion;
  const bool is_bound = is_bound_to_nodes(choices);
  if (is_sum && !is_bound) return smallest_sum(choices, costs, problem.machine);
  PlacedSplit placed(choices, problem.machine, budget);
  if (is_sum) return smallest_placed_sum(placed, costs, budget);
  const CostRanks ranks = ranks_of(costs);
  const Fitting fitting = [&](const std::vector<int>& limits) {
    return is_bound ? fit_on_nodes(placed, ranks, limits) : fit(choices, ranks, limits, problem.machine.gpus());
  };
  return lexicographic_split(ranks, kinds_of(choices, ranks), fitting, fewest_gpus(choices, ranks), budget);
}

std::optional<Split> split_of(const AllocationProblem& problem, const Choices& choices, SearchBudget& budget) {
  const Indices indices = solve(problem, choices, budget);
  if (!indices) return std::nullopt;
  Split split;
  for (std::size_t task = 0; task < choices.size(); ++task)
    split.push_back(choices[task][(*indices)[task]]);
  return split;
}

}  // namespace

std::optional<Split> best_static_split(const AllocationProblem& problem, SearchBudget& budget) {
  Choices choices = useful_choices(problem);
  for (std::vector<Choice>& one : choices) {
    if (one.empty() && problem.objective != Objective::weighted_throughput) return std::nullopt;
    // A task may get nothing where rates count; as a time, that would be infinite.
    if (!is_about_time(problem.objective)) one.insert(one.begin(), Choice{});
  }
  return split_of(problem, choices, budget);
}

std::optional<Split> best_static_split(const AllocationProblem& problem) {
  SearchBudget budget;
  return best_static_split(problem, budget);
}

// As if the machine were one node, on which every split that counts GPUs can be placed.
double static_bound(const AllocationProblem& problem) {
  AllocationProblem anywhere = problem;
  anywhere.machine = {1, problem.machine.gpus(), problem.machine.memory_gb};
  for (AllocationTask& task : anywhere.tasks) {
    std::vector<RateRow> rows;
    for (const Choice& choice : task.table.usable(problem.machine))
      rows.push_back({choice.gpus, 0, choice.rate, 0});
    task.table = RateTable(std::move(rows));
  }
  SearchBudget budget(kMostOperationsOfBound);
  const std::optional<Split> split = best_static_split(anywhere, budget);
  if (split) return value_of(anywhere, *split);
  return is_maximised(problem.objective) ? 0 : std::numeric_limits<double>::infinity();
}

std::optional<Split> equal_split(const AllocationProblem& problem, SearchBudget& budget) {
  const int num_tasks = static_cast<int>(problem.tasks.size());
  Choices choices;
  for (int task = 0; task < num_tasks; ++task) {
    const int share = problem.machine.gpus() / num_tasks + (task < problem.machine.gpus() % num_tasks ? 1 : 0);
    std::vector<Choice> usable = problem.tasks[static_cast<std::size_t>(task)].table.usable(problem.machine);
    std::erase_if(usable, [&](const Choice& choice) { return choice.gpus > share; });
    if (usable.empty()) return std::nullopt;
    // All that its share allows, even where fewer GPUs would be faster: a baseline that knows no rates.
    const int largest = usable.back().gpus;
    std::erase_if(usable, [&](const Choice& choice) { return choice.gpus < largest; });
    choices.push_back(std::move(usable));
  }
  if (!is_bound_to_nodes(choices)) {
    Split split;
    for (const std::vector<Choice>& one : choices)
      split.push_back(one.front());
    return split;
  }
  return split_of(problem, choices, budget);
}

}  // namespace multicard
