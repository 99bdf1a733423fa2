#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/JsonText.hpp"
#include "scheduling/plan/Plan.hpp"

namespace multicard {

namespace {

using nlohmann::ordered_json;

/// null for what does not exist.
/// JSON has neither infinity, the end of a task without known work, nor NaN.
ordered_json number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

ordered_json number(const std::optional<double>& value) {
  return value ? number(*value) : ordered_json();
}

ordered_json interval_json(const std::optional<Interval>& interval) {
  return interval ? ordered_json::array({interval->low, interval->high}) : ordered_json();
}

bool is_any_known(const PlanIntervals& intervals) {
  return intervals.value || std::any_of(intervals.ends.begin(), intervals.ends.end(),
                                        [](const std::optional<Interval>& end) { return end.has_value(); });
}

ordered_json intervals_json(const PlanIntervals& intervals) {
  ordered_json ends = ordered_json::array();
  for (const std::optional<Interval>& end : intervals.ends)
    ends.push_back(interval_json(end));
  return {{"value", interval_json(intervals.value)}, {"ends", ends}};
}

ordered_json schedule_json(const Plan& plan) {
  ordered_json list = ordered_json::array();
  if (!plan.allocation) return list;
  for (const ScheduleEntry& entry : plan.allocation->schedule) {
    list.push_back({{"task", plan.problem.tasks[entry.task].name},
                    {"gpus", entry.gpus},
                    {"nodes", entry.nodes},
                    {"start_s", entry.start_s},
                    {"end_s", number(entry.end_s)}});
    const RateSource source =
        plan.problem.tasks[entry.task].table.source(entry.gpus, entry.nodes, plan.problem.machine);
    if (!source.placement.empty()) list.back()["placement"] = source.placement;
    if (!source.variant.empty()) list.back()["variant"] = source.variant;
  }
  return list;
}

const char* search_word(SearchEnd search) {
  return search == SearchEnd::complete ? "complete" : search == SearchEnd::work_limit ? "work-limit" : "time-limit";
}

}  // namespace

std::string plan_json(const Plan& plan) {
  const Allocation none, &found = plan.allocation ? *plan.allocation : none;
  ordered_json json{{"objective", std::string(word_of<Objective>(plan.problem.objective, kObjectiveWords))},
                    {"gpus", plan.problem.machine.gpus()},
                    {"value", plan.allocation ? number(found.value) : ordered_json()},
                    {"schedule", schedule_json(plan)},
                    {"baselines", {{"equal", number(found.equal)}, {"sequential", number(found.sequential)}}},
                    {"solve_ms", plan.solve_ms}};
  if (!plan.obstacle.empty()) json["obstacle"] = plan.obstacle;
  if (plan.allocation) {
    json["bound"] = found.bound;
    json["gap"] = found.gap();
    json["search"] = search_word(found.search);
  }
  if (is_any_known(plan.intervals)) json["intervals"] = intervals_json(plan.intervals);
  return json_text(json);
}

}  // namespace multicard
