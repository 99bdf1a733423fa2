#include "planning/Plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "base/Text.hpp"
#include "planning/MeasuredRates.hpp"
#include "planning/RateTableFile.hpp"

namespace multicard {

namespace {

std::string source_of(const PlanTaskOptions& task) {
  return task.table.empty() ? task.results : task.table;
}

std::vector<AllocationTask> read_tasks(const PlanOptions& options) {
  std::vector<AllocationTask> tasks;
  const bool is_one_node = options.machines.front().nodes == 1;
  const PlacementUse placements = is_one_node ? PlacementUse::ignored : PlacementUse::bound;
  for (const PlanTaskOptions& task : options.tasks) {
    RateTable table = task.table.empty() ? read_measured_rates(task.results)
                                         : read_rate_table(task.table, task.layout, task.batch, placements);
    tasks.push_back({task.name, std::move(table), task.work, task.weight});
  }
  return tasks;
}

std::string machine_text(const Machine& machine) {
  return machine.nodes == 1
             ? counted(machine.gpus_per_node, "GPU")
             : fmt::format("{} of {}", counted(machine.nodes, "node"), counted(machine.gpus_per_node, "GPU"));
}

/// The first task that can use no row of its table on this machine; nullptr if all can.
const AllocationTask* task_without_rate(const AllocationProblem& problem) {
  for (const AllocationTask& task : problem.tasks)
    if (task.table.best(problem.machine).gpus == 0) return &task;
  return nullptr;
}

Plan make_plan(const PlanOptions& options, const std::vector<AllocationTask>& tasks, const Machine& machine) {
  Plan plan{{options.objective, machine, tasks}, options.kind, {}, {}, {}, 0};
  const TimePoint start = SteadyClock::now();
  plan.allocation = allocate(plan.problem, options.kind);
  plan.solve_ms = 1000 * seconds_since(start);
  if (plan.allocation) {
    plan.intervals = predict_intervals(plan.problem, *plan.allocation);
    return plan;
  }
  const AllocationTask* task = task_without_rate(plan.problem);
  plan.obstacle = task != nullptr ? fmt::format("no rate of task {} can be used", task->name)
                                  : "the tasks do not fit at the same time";
  return plan;
}

/// \throws DataError or UsageError that says why there is no plan for any machine
[[noreturn]] void refuse(const PlanOptions& options, const std::vector<Plan>& plans) {
  const auto largest = std::max_element(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) {
    return a.problem.machine.gpus() < b.problem.machine.gpus();
  });
  const AllocationProblem& problem = largest->problem;
  const std::string machine = machine_text(problem.machine);
  const AllocationTask* task = task_without_rate(problem);
  if (task == nullptr)
    throw UsageError(fmt::format("{} cannot run at the same time on {}",
                                 counted(static_cast<std::int64_t>(problem.tasks.size()), "task"), machine),
                     "their tables have no numbers of GPUs that fit together", "Set static_only: false.");
  const auto number = static_cast<std::size_t>(task - problem.tasks.data());
  throw DataError(
      fmt::format("{} has no rate that {} can use for task {}", source_of(options.tasks[number]), machine, task->name),
      "a usable row has a rate above 0, no more GPUs, nodes and memory than the machine, and as many nodes as "
      "its GPUs need",
      "Measure the task on fewer GPUs, or plan for a larger machine.");
}

}  // namespace

std::vector<Plan> make_plans(const PlanOptions& options) {
  const std::vector<AllocationTask> tasks = read_tasks(options);
  std::vector<Plan> plans;
  for (const Machine& machine : options.machines)
    plans.push_back(make_plan(options, tasks, machine));
  if (std::none_of(plans.begin(), plans.end(), [](const Plan& plan) { return plan.allocation.has_value(); }))
    refuse(options, plans);
  return plans;
}

}  // namespace multicard
