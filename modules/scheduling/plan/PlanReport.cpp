#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "scheduling/plan/Plan.hpp"

namespace multicard {

namespace {

std::string objective_text(Objective objective) {
  return std::string(word_of<Objective>(objective, kObjectiveWords));
}

std::string value_text(Objective objective, double value) {
  if (objective == Objective::fairness) return fmt::format("{:.1f} %", 100 * value);
  return significant(value, 4) + (is_about_time(objective) ? " s" : "");
}

/// "-12.5 %": the value against a baseline.
std::string change_text(double value, double baseline) {
  return fmt::format("{:+.1f} %", 100 * (value / baseline - 1));
}

std::string baseline_text(const Plan& plan, const std::optional<double>& baseline) {
  if (!baseline) return "-";
  const std::string text = value_text(plan.problem.objective, *baseline);
  return *baseline > 0 ? fmt::format("{} (plan: {})", text, change_text(plan.allocation->value, *baseline)) : text;
}

std::string time_text(double seconds) {
  return std::isfinite(seconds) ? fmt::format("{:.1f}", seconds) : "-";
}

std::vector<std::string> schedule_lines(const Plan& plan) {
  std::size_t width = 4;
  for (const AllocationTask& task : plan.problem.tasks)
    width = std::max(width, task.name.size());
  const auto& ends = plan.intervals.ends;
  const bool is_sure = std::none_of(ends.begin(), ends.end(), [](const auto& end) { return end.has_value(); });
  std::vector<std::string> lines{fmt::format("  {:<{}}  {:>6}  {:>6}  {:>12}  {:>12}{}", "task", width, "GPUs", "nodes",
                                             "from (s)", "to (s)", is_sure ? "" : "  95 % interval")};
  std::vector<char> runs(plan.problem.tasks.size(), 0);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const ScheduleEntry& entry = plan.allocation->schedule[i];
    runs[entry.task] = 1;
    lines.push_back(fmt::format("  {:<{}}  {:>6}  {:>6}  {:>12}  {:>12}{}", plan.problem.tasks[entry.task].name, width,
                                entry.gpus, entry.nodes, time_text(entry.start_s), time_text(entry.end_s),
                                ends[i] ? fmt::format("  {:.1f}-{:.1f}", ends[i]->low, ends[i]->high) : ""));
  }
  for (std::size_t task = 0; task < runs.size(); ++task)
    if (runs[task] == 0) lines.push_back(fmt::format("  {:<{}}  {:>6}", plan.problem.tasks[task].name, width, 0));
  return lines;
}

/// Which of several measured placements and variants the plan takes, where tables name them.
void add_sources(const Plan& plan, std::vector<std::string>& lines) {
  std::vector<std::string> known;
  for (const ScheduleEntry& entry : plan.allocation->schedule) {
    const AllocationTask& task = plan.problem.tasks[entry.task];
    const RateSource source = task.table.source(entry.gpus, entry.nodes, plan.problem.machine);
    if (!source.is_known()) continue;
    std::vector<std::string> parts;
    if (!source.placement.empty()) parts.push_back("placement " + source.placement);
    if (!source.variant.empty()) parts.push_back(source.variant);
    std::string text = fmt::format("{} on {}: {}", task.name, counted(entry.gpus, "GPU"), join(parts, ", "));
    if (std::find(known.begin(), known.end(), text) != known.end()) continue;
    lines.push_back(fmt::format("{:<10}{}", known.empty() ? "fastest" : "", text));
    known.push_back(std::move(text));
  }
}

std::string interval_text(const Plan& plan) {
  const std::optional<Interval>& value = plan.intervals.value;
  if (!value) return "";
  return fmt::format(", 95 % interval {} to {}", value_text(plan.problem.objective, value->low),
                     value_text(plan.problem.objective, value->high));
}

/// Why something better may not have been found.
std::string search_text(SearchEnd search) {
  switch (search) {
    case SearchEnd::work_limit:
      return "; not all was tried";
    case SearchEnd::time_limit:
      return "; not all was tried, as it took too long";
    case SearchEnd::complete:
      break;
  }
  return "";
}

std::string bound_text(const Plan& plan) {
  const Allocation& found = *plan.allocation;
  // Smaller ones come from rounding.
  constexpr double kNoGap = 1e-6;
  if (found.gap() < kNoGap) return "optimal";
  const Objective objective = plan.problem.objective;
  return fmt::format("{} bound {}, gap {} %{}", is_maximised(objective) ? "upper" : "lower",
                     value_text(objective, found.bound), significant(100 * found.gap(), 2), search_text(found.search));
}

void add_next_measurement(const Plan& plan, std::vector<std::string>& lines) {
  const MeasurementAdvice& advice = plan.advice;
  if (!advice.next) {
    lines.push_back(fmt::format("{:<10}nothing next: {}", "measure", advice.reason));
    return;
  }
  const char* effect = plan.problem.objective == Objective::makespan ? "shorten" : "improve";
  lines.push_back(fmt::format("{:<10}{} on {} next, which could {} the plan to {}", "measure",
                              plan.problem.tasks[advice.next->task].name, counted(advice.next->gpus, "GPU"), effect,
                              value_text(plan.problem.objective, advice.next->value)));
}

std::string asked_text(const AllocationProblem& problem) {
  return fmt::format("{} on {}{}", objective_text(problem.objective), counted(problem.machine.gpus(), "GPU"),
                     problem.machine.nodes > 1 ? fmt::format(" ({})", counted(problem.machine.nodes, "node")) : "");
}

}  // namespace

std::string plan_title(const Plan& plan) {
  const Objective objective = plan.problem.objective;
  if (!plan.allocation) return fmt::format("{}: none ({})", asked_text(plan.problem), plan.obstacle);
  const auto baseline = [&](const std::optional<double>& value) { return value ? value_text(objective, *value) : "-"; };
  return fmt::format("{}: {}; equal split {}; one after another {}", asked_text(plan.problem),
                     value_text(objective, plan.allocation->value), baseline(plan.allocation->equal),
                     baseline(plan.allocation->sequential));
}

std::vector<std::string> plan_report(const Plan& plan) {
  std::vector<std::string> lines{fmt::format("{:<10}{}", "plan", asked_text(plan.problem))};
  if (!plan.allocation) {
    lines.push_back(fmt::format("{:<10}none: {}", "schedule", plan.obstacle));
    return lines;
  }
  const std::vector<std::string> schedule = schedule_lines(plan);
  lines.insert(lines.end(), schedule.begin(), schedule.end());
  add_sources(plan, lines);
  lines.push_back(fmt::format("{:<10}{}{} ({})", "value", value_text(plan.problem.objective, plan.allocation->value),
                              interval_text(plan), bound_text(plan)));
  lines.push_back(fmt::format("{:<10}equal split {}; one after another {}", "baselines",
                              baseline_text(plan, plan.allocation->equal),
                              baseline_text(plan, plan.allocation->sequential)));
  add_next_measurement(plan, lines);
  return lines;
}

std::vector<std::string> compare_plans(const std::vector<Plan>& plans) {
  std::vector<std::string> lines{
      fmt::format("  {:>6}  {:>14}  {:>14}  {:>17}", "GPUs", "plan", "equal split", "one after another")};
  const auto cell = [](const Plan& plan, const std::optional<double>& value) {
    return value ? value_text(plan.problem.objective, *value) : std::string("-");
  };
  for (const Plan& plan : plans) {
    const Allocation none, &found = plan.allocation ? *plan.allocation : none;
    const std::optional<double> value = plan.allocation ? std::optional(found.value) : std::nullopt;
    lines.push_back(fmt::format("  {:>6}  {:>14}  {:>14}  {:>17}", plan.problem.machine.gpus(), cell(plan, value),
                                cell(plan, found.equal), cell(plan, found.sequential)));
  }
  return lines;
}

}  // namespace multicard
