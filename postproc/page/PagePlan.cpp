#include "postproc/page/PagePlan.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/BuildInfo.hpp"
#include "base/JsonText.hpp"
#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/figures/PlanFigures.hpp"
#include "postproc/page/Columns.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/JsonValues.hpp"
#include "postproc/page/PageFiles.hpp"
#include "postproc/page/PageFrame.hpp"
#include "postproc/page/PageParts.hpp"
#include "postproc/study/PlanAnswer.hpp"

namespace multicard::post {

namespace {

Columns<PlannedMachine> machine_columns(const std::string& objective) {
  using Machine = PlannedMachine;
  const auto value = [objective](std::optional<double> Machine::*member) {
    return [objective, member](const Machine& machine) {
      const std::optional<double>& number = machine.*member;
      return HtmlCell(number ? value_text(objective, *number) : "–", number.value_or(kNone));
    };
  };
  return {{"gpus", kJson | kPage, &Machine::gpus, "GPUs"},
          {"value", kJson, &Machine::value},
          {"obstacle", kJson,
           [](const Machine& machine) { return machine.obstacle.empty() ? Value() : Value(machine.obstacle); }},
          {"equal", kJson, &Machine::equal},
          {"sequential", kJson, &Machine::sequential},
          {"the plan", value(&Machine::value)},
          {"equal split", value(&Machine::equal)},
          {"one after another", value(&Machine::sequential)},
          {"gap", kJson, &Machine::gap},
          {"from the optimum, at most", [](const Machine& machine) {
             const double gap = machine.gap.value_or(kNone);
             return HtmlCell(gap == 0 ? "optimal" : percent(gap), gap);
           }}};
}

Columns<PlannedInterval> interval_columns() {
  using Interval = PlannedInterval;
  return {{"task", kJson | kPage, &Interval::task, "task"},
          {"gpus", kJson | kPage, &Interval::gpus, "GPUs"},
          {"nodes", kJson | kPage, &Interval::nodes, "nodes"},
          {"start_s", kJson | kPage, &Interval::start_s, "from, s"},
          {"end_s", kJson | kPage, &Interval::end_s, "to, s"}};
}

Columns<ReplayedPolicy> policy_columns() {
  using Policy = ReplayedPolicy;
  const auto duration = [](double Policy::*member) {
    return [member](const Policy& policy) { return HtmlCell(human_duration(policy.*member), policy.*member); };
  };
  return {{"policy", kJson | kPage, &Policy::policy, "policy"}, {"jobs", kJson | kPage, &Policy::jobs, "jobs"},
          {"average_jct_s", kJson, &Policy::average_s},         {"p99_jct_s", kJson, &Policy::p99_s},
          {"makespan_s", kJson, &Policy::makespan_s},           {"average completion", duration(&Policy::average_s)},
          {"99 % of jobs within", duration(&Policy::p99_s)},    {"all complete after", duration(&Policy::makespan_s)}};
}

std::string subject_of(const PlanFile& file) {
  if (file.machines.empty())
    return fmt::format("Replay of a workload under {}",
                       file.policies.size() == 1 ? "one policy" : fmt::format("{} policies", file.policies.size()));
  std::vector<std::string> sizes;
  for (const PlannedMachine& machine : file.machines)
    sizes.push_back(std::to_string(machine.gpus));
  return fmt::format("Plan for {} on {} {}", file.machines.front().objective, join(sizes, ", "),
                     sizes == std::vector<std::string>{"1"} ? "GPU" : "GPUs");
}

std::string details_of(const PlanFile& file) {
  if (file.machines.empty())
    return table(html_table("policies", "Policies, as simulated", policy_columns(), file.policies), Caption::name);
  std::string out = table(html_table(
      "plans", "Machines, and what is done without a plan: " + unit_of_objective(file.machines.front().objective) + ".",
      machine_columns(file.machines.front().objective), file.machines));
  std::vector<std::string> without;
  for (const PlannedMachine& machine : file.machines)
    if (!machine.value)
      without.push_back(fmt::format("No plan for {}: {}.", counted(machine.gpus, "GPU"), why_none(machine)));
  if (!without.empty()) out += list(without);
  std::map<int, int> of_size;  // machines of one size differ in their nodes
  for (const PlannedMachine& machine : file.machines) {
    if (machine.schedule.empty()) continue;
    const int number = ++of_size[machine.gpus];
    const std::string id = fmt::format("schedule-{}", machine.gpus);
    out += table(html_table(number == 1 ? id : fmt::format("{}-{}", id, number),
                            fmt::format("On {}.", counted(machine.gpus, "GPU")), interval_columns(), machine.schedule));
  }
  return out;
}

std::string page_of(const PlanFile& file, const std::vector<Figure>& figures,
                    const std::vector<std::string>& warnings) {
  const bool is_plan = !file.machines.empty();
  std::string title = plan_finding(file).text;
  title.pop_back();
  std::vector<PagePart> parts{{"answer", "The answer", answer_figure_html(figures)},
                              {"details", is_plan ? "Who gets which GPUs, and when" : "Policies side by side",
                               other_figures_html(figures) + details_of(file)}};
  std::erase_if(parts, [](const PagePart& part) { return part.html.empty(); });
  return html_page(
      {title, subject_of(file), fmt::format("{}. Report by multicard-post {}.", file.path, build_info().version)},
      warnings, parts);
}

}  // namespace

std::string plan_summary_json(const PlanFile& file, const std::vector<Figure>& figures) {
  Value::Json out{{"format", "multicard-summary"}, {"schema_version", 3}, {"headline", json_of(plan_finding(file))}};
  if (file.machines.empty()) {
    out["policies"] = json_rows(policy_columns(), file.policies);
  } else {
    out["objective"] = file.machines.front().objective;
    out["plans"] = Value::Json::array();
    for (const PlannedMachine& machine : file.machines) {
      out["plans"].push_back(json_row(machine_columns(machine.objective), machine));
      out["plans"].back()["schedule"] = json_rows(interval_columns(), machine.schedule);
    }
  }
  out["figures"] = json_of(figures);
  return json_text(out, 1) + "\n";
}

std::string write_plan_report(const PlanFile& file, const std::string& folder, const Gnuplot& gnuplot,
                              Formats formats) {
  std::vector<std::string> warnings;
  std::vector<PageFile> pages;
  std::vector<Figure> figures = figures_of(file);
  draw_for_page(gnuplot, figures, formats, pages, warnings);
  pages.push_back({"summary.json", plan_summary_json(file, figures)});
  pages.push_back({"report.html", page_of(file, figures, warnings)});
  write_pages(folder, pages);
  return (std::filesystem::path(folder) / "report.html").string();
}

}  // namespace multicard::post
