#include "unit/scheduling/plan/CbcSplit.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include <Cbc_C_Interface.h>

namespace multicard::test {

namespace {

/// The program column by column.
struct Columns {
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> rows;
  std::vector<double> values, costs, lower, upper;

  void add(double cost, double low, double high, const std::vector<std::pair<int, double>>& entries) {
    for (const auto& [row, value] : entries) {
      rows.push_back(row);
      values.push_back(value);
    }
    starts.push_back(static_cast<CoinBigIndex>(rows.size()));
    costs.push_back(cost);
    lower.push_back(low);
    upper.push_back(high);
  }
};

bool is_largest_cost(Objective objective) {
  return objective == Objective::makespan || objective == Objective::fairness;
}

/// Rows: one for each task, the GPUs, and for largest costs t ≥ cost of each task.
Columns columns_of(const AllocationProblem& problem, const std::vector<std::vector<Choice>>& choices, double scale) {
  const int num_tasks = static_cast<int>(choices.size());
  const bool has_limit = is_largest_cost(problem.objective);
  Columns columns;
  for (int task = 0; task < num_tasks; ++task) {
    const auto number = static_cast<std::size_t>(task);
    const double best = problem.tasks[number].table.best(problem.machine).rate;
    for (const Choice& choice : choices[number]) {
      const double cost = cost_of(problem, number, choice, best) / scale;
      std::vector<std::pair<int, double>> entries{{task, 1.0}, {num_tasks, choice.gpus}};
      if (has_limit) entries.emplace_back(num_tasks + 1 + task, -cost);
      columns.add(has_limit ? 0 : cost, 0, 1, entries);
    }
  }
  if (has_limit) {
    std::vector<std::pair<int, double>> entries;
    for (int task = 0; task < num_tasks; ++task)
      entries.emplace_back(num_tasks + 1 + task, 1.0);
    columns.add(1, -1e6, 1e6, entries);
  }
  return columns;
}

/// So that tolerances mean the same in all problems.
double largest_cost(const AllocationProblem& problem, const std::vector<std::vector<Choice>>& choices) {
  double largest = 0;
  for (std::size_t task = 0; task < choices.size(); ++task)
    for (const Choice& choice : choices[task])
      largest = std::max(
          largest, std::abs(cost_of(problem, task, choice, problem.tasks[task].table.best(problem.machine).rate)));
  return largest > 0 ? largest : 1;
}

}  // namespace

bool has_cbc() {
  return true;
}

std::optional<Split> cbc_split(const AllocationProblem& problem) {
  std::vector<std::vector<Choice>> choices;
  for (const AllocationTask& task : problem.tasks) {
    choices.push_back(task.table.usable(problem.machine));
    if (!is_about_time(problem.objective)) choices.back().insert(choices.back().begin(), Choice{});
  }
  const Columns columns = columns_of(problem, choices, largest_cost(problem, choices));
  const std::size_t num_tasks = choices.size(), num_limits = is_largest_cost(problem.objective) ? num_tasks : 0;
  std::vector<double> low(num_tasks + 1 + num_limits, 0), high(num_tasks + 1 + num_limits, 1e30);
  std::fill_n(low.begin(), num_tasks, 1.0);
  std::fill_n(high.begin(), num_tasks, 1.0);
  high[num_tasks] = problem.machine.gpus();
  const std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model(Cbc_newModel(), Cbc_deleteModel);
  const int num_columns = static_cast<int>(columns.costs.size());
  Cbc_loadProblem(model.get(), num_columns, static_cast<int>(low.size()), columns.starts.data(), columns.rows.data(),
                  columns.values.data(), columns.lower.data(), columns.upper.data(), columns.costs.data(), low.data(),
                  high.data());
  for (int column = 0; column < num_columns - (num_limits > 0 ? 1 : 0); ++column)
    Cbc_setInteger(model.get(), column);
  for (const auto& [name, value] : {std::pair{"log", "0"},
                                    {"ratioGap", "0"},
                                    {"allowableGap", "0"},
                                    {"increment", "1e-12"},
                                    {"primalT", "1e-9"},
                                    {"dualT", "1e-9"},
                                    {"integerT", "1e-9"}})
    Cbc_setParameter(model.get(), name, value);
  Cbc_solve(model.get());
  if (Cbc_isProvenInfeasible(model.get()) != 0) return std::nullopt;
  const double* solution = Cbc_getColSolution(model.get());
  Split split;
  for (const std::vector<Choice>& one : choices) {
    split.push_back(one[static_cast<std::size_t>(std::max_element(solution, solution + one.size()) - solution)]);
    solution += one.size();
  }
  return split;
}

}  // namespace multicard::test
