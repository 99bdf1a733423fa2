#include "scheduling/plan/Plan.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "base/Text.hpp"
#include "scheduling/rates/MeasuredRates.hpp"
#include "scheduling/rates/RateTableFile.hpp"

namespace multicard {

namespace {

/// \name For what is to be measured next, of all machines together
/// @{
constexpr std::int64_t kOperationsOfAdvice = 600'000'000;
constexpr double kSecondsOfAdvice = 2;
/// @}
/// \name Of rates that are not 0: beyond them times and values could not be computed with
/// @{
constexpr double kLeastRate = 1e-30, kMostRate = 1e30;
/// @}

std::string source_of(const PlanTaskOptions& task) {
  return task.table.empty() ? task.results : task.table;
}

/// \throws DataError
void check_rates(const RateTable& table, const PlanTaskOptions& task) {
  for (const RateRow& row : table.rows())
    if (row.rate != 0 && !(row.rate >= kLeastRate && row.rate <= kMostRate))
      throw DataError(fmt::format("{} has the rate {} on {} for task {}", source_of(task), row.rate,
                                  counted(row.gpus, "GPU"), task.name),
                      fmt::format("a rate is 0 or between {} and {}", kLeastRate, kMostRate),
                      "Measure rate and work in another unit, or leave the row out.");
}

std::vector<AllocationTask> read_tasks(const PlanOptions& options) {
  std::vector<AllocationTask> tasks;
  // Machines of several sizes all have one node; of several nodes there is one machine alone (read_machines()).
  const bool is_one_node = options.machines.front().nodes == 1;
  const PlacementUse placements = is_one_node ? PlacementUse::ignored : PlacementUse::bound;
  for (const PlanTaskOptions& task : options.tasks) {
    RateTable table = task.table.empty() ? read_measured_rates(task.results)
                                         : read_rate_table(task.table, task.layout, task.batch, placements);
    check_rates(table, task);
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

/// What the searches for several machines may still do together.
class SharedBudget {
 public:
  SharedBudget(std::int64_t operations, double seconds, std::size_t num_machines)
      : operations_(operations), seconds_(seconds), num_machines_(num_machines) {}

  /// Calls `search` with an equal part for each of the machines that are left; what it does not use is theirs.
  template <class Search>
  auto with_part(const Search& search) {
    const auto num_left = static_cast<std::int64_t>(num_machines_--);
    SearchBudget part(operations_ / num_left, seconds_ / static_cast<double>(num_left));
    const std::int64_t operations = part.operations_left();
    const TimePoint start = SteadyClock::now();
    auto found = search(part);
    operations_ -= operations - part.operations_left();
    seconds_ -= seconds_since(start);
    return found;
  }

 private:
  std::int64_t operations_;
  double seconds_;
  std::size_t num_machines_;
};

Plan make_plan(const PlanOptions& options, const std::vector<AllocationTask>& tasks, const Machine& machine,
               SearchBudget& budget) {
  Plan plan{{options.objective, machine, tasks}, options.kind, {}, {}, {}, {}, 0};
  const TimePoint start = SteadyClock::now();
  plan.allocation = allocate(plan.problem, options.kind, budget);
  plan.solve_ms = 1000 * seconds_since(start);
  if (plan.allocation) {
    plan.intervals = predict_intervals(plan.problem, *plan.allocation);
    return plan;
  }
  const AllocationTask* task = task_without_rate(plan.problem);
  plan.obstacle = task != nullptr ? fmt::format("no rate of task {} can be used", task->name)
                  : budget.end() == SearchEnd::complete
                      ? "the tasks do not fit at the same time"
                      : "no split was found in which all tasks fit, but not all were tried";
  return plan;
}

/// \throws DataError or UsageError that says why there is no plan for any machine
[[noreturn]] void refuse(const PlanOptions& options, const std::vector<Plan>& plans) {
  // What cannot run on the largest machine can run on none.
  const auto largest = std::max_element(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) {
    return a.problem.machine.gpus() < b.problem.machine.gpus();
  });
  const AllocationProblem& problem = largest->problem;
  const std::string machine = machine_text(problem.machine);
  const AllocationTask* task = task_without_rate(problem);
  if (task == nullptr)
    throw UsageError(fmt::format("{} cannot run at the same time on {}",
                                 counted(static_cast<std::int64_t>(problem.tasks.size()), "task"), machine),
                     largest->obstacle, "Set static_only: false.");
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
  const std::size_t num_machines = options.machines.size();
  SharedBudget searches(SearchBudget::kMostOperations, SearchBudget::kMostSeconds, num_machines);
  SharedBudget advice(kOperationsOfAdvice, kSecondsOfAdvice, num_machines);
  std::vector<Plan> plans;
  for (const Machine& machine : options.machines) {
    plans.push_back(
        searches.with_part([&](SearchBudget& budget) { return make_plan(options, tasks, machine, budget); }));
    Plan& plan = plans.back();
    plan.advice = advice.with_part([&](SearchBudget& budget) {
      return plan.allocation ? next_measurement(plan.problem, plan.kind, *plan.allocation, budget)
                             : MeasurementAdvice{};
    });
  }
  if (std::none_of(plans.begin(), plans.end(), [](const Plan& plan) { return plan.allocation.has_value(); }))
    refuse(options, plans);
  return plans;
}

}  // namespace multicard
