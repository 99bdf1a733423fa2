#include "postproc/figures/PlanFigures.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/BarChart.hpp"
#include "postproc/draw/LineChart.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/study/PlanAnswer.hpp"

namespace multicard::post {

namespace {

constexpr std::size_t kMostBars = 32;

std::vector<std::string> tasks_of(const PlannedMachine& machine) {
  std::vector<std::string> tasks;
  for (const PlannedInterval& interval : machine.schedule)
    if (std::ranges::find(tasks, interval.task) == tasks.end()) tasks.push_back(interval.task);
  return tasks;
}

/// When a task has how many GPUs; where intervals have no end, how many it has.
Bar task_bar(const PlannedMachine& machine, const std::string& task, std::size_t number, bool has_ends) {
  Bar bar;
  bar.label = task;
  double until = 0;
  for (const PlannedInterval& interval : machine.schedule) {
    if (interval.task != task) continue;
    const std::string gpus = counted(interval.gpus, "GPU");
    const char* const colour = LineStyle(number).line_colour();
    if (!has_ends) {
      bar.segments.push_back({double(interval.gpus), colour, gpus});
      continue;
    }
    if (interval.start_s > until) bar.segments.push_back({interval.start_s - until, "", ""});
    bar.segments.push_back({*interval.end_s - interval.start_s, colour, gpus});
    bar.hover += (bar.hover.empty() ? "" : ", ") +
                 fmt::format("{} from {} to {} s", gpus, significant(interval.start_s), significant(*interval.end_s));
    until = *interval.end_s;
  }
  return bar;
}

Figure schedule_figure(const PlannedMachine& machine) {
  const std::vector<std::string> tasks = tasks_of(machine);
  const bool has_ends =
      std::ranges::all_of(machine.schedule, [](const PlannedInterval& one) { return one.end_s.has_value(); });
  BarChart chart;
  for (std::size_t i = 0; i < std::min(tasks.size(), kMostBars); ++i)
    chart.bars.push_back(task_bar(machine, tasks[i], i, has_ends));
  chart.subtitle = fmt::format("The GPUs of each task, of {} in all", machine.gpus);
  chart.x_name = has_ends ? "seconds from the start" : "GPUs";
  const Finding title{
      fmt::format("{} share {}", counted(static_cast<long>(tasks.size()), "task"), counted(machine.gpus, "GPU")),
      {{"tasks", tasks.size()}, {"gpus", machine.gpus}}};
  const std::string caption =
      tasks.size() > kMostBars ? fmt::format("The first {} of {} tasks.", kMostBars, tasks.size()) : std::string();
  return figure_of("plan-schedule", Section::study, title, chart, caption);
}

/// The plan and what is done without one.
Figure baseline_figure(const PlannedMachine& machine) {
  BarChart chart;
  const auto add = [&](const char* name, const std::optional<double>& value, const char* colour) {
    if (value) chart.bars.push_back({name, {{*value, colour, ""}}, {}, value_text(machine.objective, *value)});
  };
  add("the plan", machine.value, kColours[0]);
  add("equal split", machine.equal, kPlain);
  add("one after another", machine.sequential, kPlain);
  chart.subtitle = counted(machine.gpus, "GPU");
  chart.x_name = unit_of_objective(machine.objective);
  const Finding title{"The plan and what is done without one"};
  return figure_of("plan-baselines", Section::study, title, chart,
                   is_time(machine.objective) ? "Less is better." : "More is better.");
}

/// The value of plans and baselines against the size of the machine.
Figure sizes_figure(const std::vector<PlannedMachine>& machines) {
  LineChart chart;
  const auto line = [&](const char* name, std::size_t colour, std::optional<double> PlannedMachine::*value) {
    Series series{name, colour, {}, {}, {}};
    for (const PlannedMachine& machine : machines)
      if (machine.*value) series.points.push_back({double(machine.gpus), *(machine.*value), std::nullopt, {}});
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  };
  line("the plan", 0, &PlannedMachine::value);
  line("equal split", 1, &PlannedMachine::equal);
  line("one after another", 2, &PlannedMachine::sequential);
  for (const PlannedMachine& machine : machines)
    if (chart.ticks.empty() || chart.ticks.back() != machine.gpus) chart.ticks.push_back(machine.gpus);
  chart.x_name = "GPUs";
  chart.y_name = unit_of_objective(machines.front().objective);
  chart.vertical = is_time(machines.front().objective) ? Vertical::logarithmic : Vertical::from_zero;
  const std::vector<Point>& planned = chart.series.front().points;
  const Finding title{fmt::format("The plan on {:.0f} to {:.0f} GPUs", planned.front().x, planned.back().x),
                      {{"least", planned.front().x}, {"most", planned.back().x}}};
  return figure_of("plan-sizes", Section::study, title, chart,
                   is_time(machines.front().objective) ? "Less is better." : "More is better.");
}

Figure policy_figure(const std::vector<ReplayedPolicy>& policies, const char* id, const char* text,
                     double ReplayedPolicy::*seconds) {
  BarChart chart;
  for (std::size_t i = 0; i < policies.size(); ++i)
    chart.bars.push_back({policies[i].policy,
                          {{policies[i].*seconds / 3600, LineStyle(i).line_colour(), ""}},
                          {},
                          human_duration(policies[i].*seconds),
                          BarStatus::complete,
                          counted(policies[i].jobs, "job")});
  chart.subtitle = "Simulated. Less is better";
  chart.x_name = "hours";
  return figure_of(id, Section::study, {text}, chart, {});
}

}  // namespace

std::vector<Figure> figures_of(const PlanFile& file) {
  std::vector<Figure> figures;
  if (!file.policies.empty()) {
    figures.push_back(policy_figure(file.policies, "replay-average", "The average completion time of a job",
                                    &ReplayedPolicy::average_s));
    figures.push_back(policy_figure(file.policies, "replay-p99", "The time that 99 % of the jobs do not exceed",
                                    &ReplayedPolicy::p99_s));
    figures.push_back(policy_figure(file.policies, "replay-makespan", "The time until all jobs are complete",
                                    &ReplayedPolicy::makespan_s));
    return figures;
  }
  const auto has_value = [](const PlannedMachine& machine) { return machine.value.has_value(); };
  if (std::ranges::count_if(file.machines, has_value) > 1) figures.push_back(sizes_figure(file.machines));
  if (!file.machines.back().schedule.empty()) figures.push_back(schedule_figure(file.machines.back()));
  if (has_value(file.machines.back())) figures.push_back(baseline_figure(file.machines.back()));
  return figures;
}

}  // namespace multicard::post
