#include "postproc/study/PlanAnswer.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

namespace {

constexpr double kSame = 0.0005;  ///< shares below this would be printed as 0.0 %

/// The better of the baselines that are known; an empty name without any.
std::pair<std::string, double> best_baseline(const PlannedMachine& machine) {
  std::pair<std::string, double> best;
  const auto consider = [&](const char* name, const std::optional<double>& value) {
    if (!value) return;
    const bool is_better = is_time(machine.objective) ? *value < best.second : *value > best.second;
    if (best.first.empty() || is_better) best = {name, *value};
  };
  consider("an equal split", machine.equal);
  consider("one task after another", machine.sequential);
  return best;
}

/// "all tasks are done after 1265 s"
std::string reached_text(const std::string& objective, double value) {
  const std::string number = value_text(objective, value);
  if (objective == "makespan") return "all tasks are done after " + number;
  if (objective == "average-completion") return "tasks end after " + number + " on average";
  if (objective == "fairness") return fmt::format("each task keeps {} of its best rate or more", number);
  return "a weighted rate of " + number;
}

/// ", 5.4 % sooner than one task after another (1337 s)"
std::string comparison_text(const PlannedMachine& machine, Evidence& evidence) {
  const auto [name, value] = best_baseline(machine);
  if (name.empty() || !(value > 0)) return {};
  const double change = *machine.value / value - 1;
  evidence.add({{"baseline", value}, {"change", std::abs(change)}});
  if (std::abs(change) < kSame) return fmt::format(", as with {}", name);
  const char* const word = !is_time(machine.objective) ? (change > 0 ? "more" : "less")
                           : change < 0                ? "sooner"
                                                       : "later";
  return fmt::format(", {} {} than with {} ({})", percent(std::abs(change)), word, name,
                     value_text(machine.objective, value));
}

Finding plan_of(const PlannedMachine& machine, const PlannedMachine& smallest) {
  Finding out{{}, {{"gpus", machine.gpus}}, "plan"};
  if (!machine.value) {
    out.text = fmt::format("No plan for {}: {}.", counted(machine.gpus, "GPU"), why_none(machine));
    return out;
  }
  out.evidence.add({"value", *machine.value});
  out.text =
      fmt::format("Planned for {}: {}", counted(machine.gpus, "GPU"), reached_text(machine.objective, *machine.value));
  if (smallest.gpus < machine.gpus && smallest.value) {
    out.evidence.add({{"smallest_gpus", smallest.gpus}, {"smallest_value", *smallest.value}});
    out.text += fmt::format(" (on {}: {})", smallest.gpus, value_text(machine.objective, *smallest.value));
  } else {
    out.text += comparison_text(machine, out.evidence);
  }
  if (machine.gap && *machine.gap >= kSame) {
    out.evidence.add({"gap", *machine.gap});
    out.text += fmt::format("; at most {} from the optimum", percent(*machine.gap));
  }
  out.text += ".";
  return out;
}

Finding replay_of(std::vector<ReplayedPolicy> policies) {
  std::ranges::stable_sort(policies, {}, &ReplayedPolicy::average_s);
  const ReplayedPolicy& best = policies.front();
  Finding out{{}, {{"average_s", best.average_s}, {"jobs", best.jobs}, {"policies", policies.size()}}, "replay"};
  const std::string average = human_duration(best.average_s);
  if (policies.size() == 1) {
    out.text =
        fmt::format("Simulated, {} completes {} after {} on average.", best.policy, counted(best.jobs, "job"), average);
    return out;
  }
  std::vector<std::string> names{best.policy};
  const ReplayedPolicy* next = nullptr;  // the first that is worse
  for (std::size_t i = 1; i < policies.size() && !next; ++i)
    if (best.average_s < (1 - kSame) * policies[i].average_s)
      next = &policies[i];
    else
      names.push_back(policies[i].policy);
  out.text =
      fmt::format("Of {} policies, simulated on {}, {} {} the shortest average completion time: {}", policies.size(),
                  counted(best.jobs, "job"), join(names, " and "), names.size() == 1 ? "has" : "have", average);
  if (next) {
    const double change = 1 - best.average_s / next->average_s;
    out.evidence.add({"change", change});
    out.text += fmt::format(", {} less than {}", percent(change), next->policy);
  }
  out.text += ".";
  return out;
}

}  // namespace

bool is_time(const std::string& objective) {
  return objective == "makespan" || objective == "average-completion";
}

std::string unit_of_objective(const std::string& objective) {
  if (objective == "makespan") return "seconds until all tasks are done";
  if (objective == "average-completion") return "seconds until a task ends, weighted mean";
  if (objective == "fairness") return "least share of a task’s best rate";
  return "sum of weight × rate";
}

std::string why_none(const PlannedMachine& machine) {
  return machine.obstacle.empty() ? "not all tasks can run there, or none was found" : machine.obstacle;
}

std::string value_text(const std::string& objective, double value) {
  if (is_time(objective)) return alike(value, value, 4) + " s";
  return objective == "fairness" ? percent(value) : significant(value);
}

Finding plan_finding(const PlanFile& file) {
  return file.machines.empty() ? replay_of(file.policies) : plan_of(file.machines.back(), file.machines.front());
}

}  // namespace multicard::post
