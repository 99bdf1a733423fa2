#include "postproc/reduce/ReadPlan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "base/Shown.hpp"
#include "base/Text.hpp"
#include "io/JsonReader.hpp"
#include "io/OwnFiles.hpp"

namespace multicard::post {

namespace {

using nlohmann::json;

constexpr std::size_t kLongestReason = 300;
constexpr int kMostGpus = 1'000'000'000;
constexpr const char* kCure = "Give a file with the standard output of `multicard plan DECK --json`.";

std::optional<double> number_in(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return found->get<double>();
}

int count_in(const json& object, const char* name) {
  const auto value = object.at(name).get<double>();
  if (!(value >= 0 && value <= kMostGpus) || value != std::floor(value))
    throw DataError(fmt::format("{} of {}", name, significant(value)), "it is no count", kCure);
  return static_cast<int>(value);
}

PlannedMachine machine_of(const json& line) {
  PlannedMachine machine;
  machine.objective = line.at("objective").get<std::string>();
  machine.gpus = count_in(line, "gpus");
  machine.value = number_in(line, "value");
  machine.obstacle = shown(line.value("obstacle", std::string()), kLongestReason);
  machine.gap = number_in(line, "gap");
  machine.equal = number_in(line.at("baselines"), "equal");
  machine.sequential = number_in(line.at("baselines"), "sequential");
  for (const json& entry : line.at("schedule"))
    machine.schedule.push_back({entry.at("task").get<std::string>(), count_in(entry, "gpus"), count_in(entry, "nodes"),
                                entry.at("start_s").get<double>(), number_in(entry, "end_s")});
  return machine;
}

ReplayedPolicy policy_of(const json& line) {
  return {line.at("policy").get<std::string>(), count_in(line, "jobs"), line.at("average_jct_s").get<double>(),
          line.at("p99_jct_s").get<double>(), line.at("makespan_s").get<double>()};
}

/// Adds what a line says; its members have the wrong types or are missing: a json::exception.
void add_line(const std::string& text, PlanFile& file) {
  const json line = parse_json(text, file.path);
  if (line.contains("policy"))
    file.policies.push_back(policy_of(line));
  else
    file.machines.push_back(machine_of(line));
}

}  // namespace

bool is_plan_file(const std::string& path) {
  return content_says(path, "{\"objective\"", "\"schedule\"") || content_says(path, "{\"policy\"", "\"makespan_s\"");
}

PlanFile read_plan_file(const std::string& path) {
  PlanFile file;
  file.path = path;
  const std::string problem = path + " is no plan and no replay";
  try {
    for (const std::string& line : split(read_file(path), '\n'))
      if (!line.empty()) add_line(line, file);
  } catch (const json::exception& error) {
    throw DataError(problem, error.what(), kCure);
  }
  const auto other_objective = [&](const PlannedMachine& machine) {
    return machine.objective != file.machines.front().objective;
  };
  if (file.machines.empty() == file.policies.empty() || std::ranges::any_of(file.machines, other_objective))
    throw DataError(problem, "its lines are of several kinds", kCure);
  std::ranges::stable_sort(file.machines, {}, &PlannedMachine::gpus);
  return file;
}

}  // namespace multicard::post
