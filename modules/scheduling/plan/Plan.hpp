#pragma once
/// \file `multicard plan`: a deck becomes an allocation for each of its machines.

#include <optional>
#include <string>
#include <vector>

#include "scheduling/plan/PlanIntervals.hpp"
#include "scheduling/plan/PlanOptions.hpp"
#include "scheduling/solve/NextMeasurement.hpp"

namespace multicard {

/// The answer for one machine.
struct Plan {
  AllocationProblem problem;
  ScheduleKind kind = ScheduleKind::any;
  std::optional<Allocation> allocation;  ///< none where the machine cannot hold the tasks
  PlanIntervals intervals;               ///< of the allocation
  std::string obstacle;                  ///< why not
  MeasurementAdvice advice;              ///< where there is an allocation
  double solve_ms = 0;
};

/// Reads the tables that the deck names and solves it for each machine. All searches together take a few seconds at
/// most: a machine may use what those before it left of the budget, shared equally among it and those after it. \throws
/// DataError for tables, and where no machine can run a task; UsageError where there are plans, but no static split,
/// for no machine
std::vector<Plan> make_plans(const PlanOptions& options);

/// The plan on one line as `plan --json` prints it: objective, gpus, value, schedule, baselines, solve_ms, bound, gap
/// and search where there is an allocation, else the obstacle, and intervals where rates have some. Numbers have all
/// their digits; what does not exist is null, ends of tasks whose work is not known too.
std::string plan_json(const Plan& plan);

/// "makespan on 8 GPUs (2 nodes): 123.4 s; equal split 150 s; one after another 170 s", or why there is no plan.
std::string plan_title(const Plan& plan);

/// Lines for people: the schedule, its value compared with the baselines and the lower bound, and what to measure next.
std::vector<std::string> plan_report(const Plan& plan);

/// One line for each machine, where there are several: its value and baselines.
std::vector<std::string> compare_plans(const std::vector<Plan>& plans);

}  // namespace multicard
