#include "scaling/NextMeasurement.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "scaling/StaticSplit.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kLargest = 400'000'000;  ///< tasks squared × GPUs squared, what it takes
constexpr double kLeastGain = 1e-9;

/// Whether the table has a row of so many GPUs, usable or not: then it was measured.
bool is_measured(const RateTable& table, int gpus) {
  return std::any_of(table.rows().begin(), table.rows().end(), [&](const RateRow& row) { return row.gpus == gpus; });
}

RateTable filled(const RateTable& table, const Machine& machine) {
  const std::vector<Choice> usable = table.usable(machine);
  std::vector<RateRow> rows;
  rows.reserve(static_cast<std::size_t>(machine.gpus()));
  for (const Choice& choice : usable)
    rows.push_back({choice.gpus, 0, choice.rate, 0});
  for (std::size_t i = 0; i < usable.size(); ++i) {
    const bool is_last = i + 1 == usable.size();
    const int end = is_last ? machine.gpus() + 1 : usable[i + 1].gpus;
    for (int gpus = usable[i].gpus + 1; gpus < end; ++gpus) {
      if (is_measured(table, gpus)) continue;
      double rate = usable[i].rate * gpus / usable[i].gpus;
      if (!is_last) rate = std::min(rate, std::max(usable[i].rate, usable[i + 1].rate));
      rows.push_back({gpus, 0, rate, 0});
    }
  }
  return RateTable(std::move(rows));
}

/// The value of a split in which one task's rate is hoped for: its best rate, which fairness divides by, stays
/// measured.
std::optional<std::pair<Split, double>> hoped(AllocationProblem problem, std::size_t task) {
  problem.tasks[task].table = filled(problem.tasks[task].table, problem.machine);
  const std::optional<Split> split = best_static_split(problem);
  if (!split) return std::nullopt;
  return std::pair(*split, value_of(problem, *split));
}

}  // namespace

std::optional<NextMeasurement> next_measurement(const AllocationProblem& problem) {
  const auto tasks = static_cast<std::int64_t>(problem.tasks.size());
  const std::int64_t gpus = problem.machine.gpus();
  if (problem.objective == Objective::fairness) return std::nullopt;
  const std::optional<Split> split = best_static_split(problem);
  if (!split || tasks * tasks * gpus * gpus > kLargest || is_bound_to_nodes(useful_choices(problem)))
    return std::nullopt;
  const double now = value_of(problem, *split);
  std::optional<NextMeasurement> next;
  for (std::size_t task = 0; task < problem.tasks.size(); ++task) {
    const auto found = hoped(problem, task);
    if (!found || is_measured(problem.tasks[task].table, found->first[task].gpus) || found->first[task].gpus == 0)
      continue;
    const double margin = kLeastGain * std::max(now, 0.0);
    const double before = next ? next->value : now;
    if (is_better(problem.objective, found->second,
                  is_maximised(problem.objective) ? before + margin : before - margin))
      next = NextMeasurement{task, found->first[task].gpus, found->second};
  }
  return next;
}

}  // namespace multicard
