#pragma once
/// \file What a plan or a replay says, in one sentence.

#include <string>

#include "findings/Finding.hpp"
#include "postproc/reduce/ReadPlan.hpp"

namespace multicard::post {

/// "plan": what the plan reaches, for the largest machine, against the better of the two baselines, and how far it may
/// be from the optimum; of several machines from the smallest on. "replay": the policy with the shortest average
/// completion time, against the next one.
Finding plan_finding(const PlanFile& file);

/// "seconds until all tasks are done": the unit of a value of this objective.
std::string unit_of_objective(const std::string& objective);

/// Whether a smaller value of this objective is better.
bool is_time(const std::string& objective);

/// "1265 s", "0.4412".
std::string value_text(const std::string& objective, double value);

/// Why a machine has no plan, as far as the file says it.
std::string why_none(const PlannedMachine& machine);

}  // namespace multicard::post
