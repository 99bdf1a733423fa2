#include "scheduling/solve/NextMeasurement.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace multicard {

namespace {

constexpr std::int64_t kLargest = 400'000'000;  ///< tasks squared × GPUs squared, what it takes
constexpr double kLeastGain = 1e-9;

/// Whether the table has a row of `gpus` GPUs, usable or not: then it was measured.
bool is_measured(const RateTable& table, int gpus) {
  return std::any_of(table.rows().begin(), table.rows().end(), [&](const RateRow& row) { return row.gpus == gpus; });
}

/// The fastest usable rate of each number of GPUs.
std::map<int, double> best_rates(const std::vector<Choice>& usable) {
  std::map<int, double> rates;
  for (const Choice& choice : usable)
    rates[choice.gpus] = std::max(rates[choice.gpus], choice.rate);
  return rates;
}

/// Gaps of a table that is bound to numbers of nodes are filled on as few nodes as hold the GPUs.
RateTable filled(const RateTable& table, const Machine& machine) {
  const std::vector<Choice> usable = table.usable(machine);
  std::vector<RateRow> rows;
  rows.reserve(static_cast<std::size_t>(machine.gpus()));
  for (const Choice& choice : usable)
    rows.push_back({choice.gpus, choice.nodes, choice.rate, 0});
  const bool is_bound = std::ranges::any_of(usable, [](const Choice& choice) { return choice.nodes > 0; });
  const std::map<int, double> rates = best_rates(usable);
  for (auto at = rates.begin(); at != rates.end(); ++at) {
    const auto next = std::next(at);
    const int end = next == rates.end() ? machine.gpus() + 1 : next->first;
    for (int gpus = at->first + 1; gpus < end; ++gpus) {
      if (is_measured(table, gpus)) continue;
      // As much as can be hoped for: perfect scaling from the next smaller count, but no more than the faster
      // neighbour. What does not improve the plan at such a rate need not be measured.
      double rate = at->second * gpus / at->first;
      if (next != rates.end()) rate = std::min(rate, std::max(at->second, next->second));
      const int nodes = machine.fewest_nodes(gpus);
      rows.push_back({gpus, is_bound ? nodes : 0, rate, 0});
    }
  }
  return RateTable(std::move(rows));
}

/// The number of GPUs, missing in its table, that the task has for longest; 0 where it has none of them.
int longest_unmeasured(const RateTable& table, std::size_t task, const TaskSchedule& schedule) {
  std::map<int, double> seconds;
  for (const ScheduleEntry& entry : schedule)
    if (entry.task == task && !is_measured(table, entry.gpus)) seconds[entry.gpus] += entry.end_s - entry.start_s;
  const auto longest = std::ranges::max_element(seconds, {}, [](const auto& of_gpus) { return of_gpus.second; });
  return longest == seconds.end() ? 0 : longest->first;
}

/// The best allocation if the task is as fast as can be hoped, where it then runs on GPUs that were not measured.
std::optional<NextMeasurement> hoped(AllocationProblem problem, std::size_t task, ScheduleKind kind,
                                     SearchBudget& budget) {
  const RateTable measured = problem.tasks[task].table;
  problem.tasks[task].table = filled(measured, problem.machine);
  const std::optional<Allocation> best = allocate(problem, kind, budget);
  const int gpus = best ? longest_unmeasured(measured, task, best->schedule) : 0;
  if (gpus == 0) return std::nullopt;
  return NextMeasurement{task, gpus, best->value};
}

}  // namespace

MeasurementAdvice next_measurement(const AllocationProblem& problem, ScheduleKind kind, const Allocation& best,
                                   SearchBudget& budget) {
  const auto tasks = static_cast<std::int64_t>(problem.tasks.size());
  const std::int64_t gpus = problem.machine.gpus();
  if (problem.objective == Objective::fairness) return {{}, "a faster task takes more from the others under fairness"};
  if (tasks * tasks * gpus * gpus > kLargest) return {{}, "there are too many GPUs to try the gaps of all tables"};
  std::optional<NextMeasurement> next;
  for (std::size_t task = 0; task < problem.tasks.size(); ++task) {
    if (budget.is_spent()) return {{}, "the gaps of all tables take too long to try"};
    const std::optional<NextMeasurement> found = hoped(problem, task, kind, budget);
    if (!found) continue;
    const double before = next ? next->value : best.value, margin = kLeastGain * std::max(best.value, 0.0);
    if (is_better(problem.objective, found->value, is_maximised(problem.objective) ? before + margin : before - margin))
      next = found;
  }
  if (!next) return {{}, "no missing number of GPUs could improve the plan"};
  return {next, ""};
}

}  // namespace multicard
