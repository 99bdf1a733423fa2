#include "scheduling/plan/PlanOptions.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/RegularFile.hpp"
#include "config/Section.hpp"

namespace multicard {

namespace {

constexpr int kMostGpus = 16384;
constexpr int kMostTasks = 256;
constexpr std::size_t kMostMachines = 256;
constexpr double kMost = std::numeric_limits<double>::max();
constexpr double kLeastWork = 1e-30, kMostWork = 1e30;  ///< divided by rates, whose limits are the same

/// The deck with the list `tasks` as a map, whose keys are the numbers of its elements: sections are maps.
Deck with_numbered_tasks(const Deck& deck) {
  const Value* tasks = deck.root().find("tasks");
  if (tasks == nullptr || tasks->is_null()) return deck;
  if (tasks->kind != Value::Kind::list)
    throw UsageError(fmt::format("deck {}, tasks: expected a list of tasks", deck.name()), "",
                     "Write - {name: WORD, table: FILE, work: NUMBER} for each.");
  Value numbered = Value::map();
  for (std::size_t i = 0; i < tasks->items.size(); ++i)
    numbered.set_path(std::to_string(i + 1), tasks->items[i]);
  Deck changed = deck;
  changed.apply({{"tasks", std::move(numbered)}});
  return changed;
}

/// `path` itself if it exists or nothing does, else the file of that name in the deck's folder.
std::string found_path(const std::string& path, const Deck& deck) {
  if (path.empty() || is_there(path)) return path;
  const std::string of_deck = deck.resolve_path(path);
  return is_there(of_deck) ? of_deck : path;
}

std::vector<Machine> read_machines(Section section) {
  Machine machine;
  machine.memory_gb = section.optional_in_range("memory_gb", kAboveZero, kMost).value_or(machine.memory_gb);
  const std::optional<std::vector<int>> gpus = section.optional_list<int>("gpus");
  const std::optional<int> nodes = section.optional_in_range("nodes", 1, kMostGpus),
                           per_node = section.optional_in_range("gpus_per_node", 1, kMostGpus);
  if (gpus && (nodes || per_node))
    section.reject("gpus", "cannot be combined with nodes or gpus_per_node", "gpus is a machine of one node",
                   "Write {nodes: N, gpus_per_node: G} or {gpus: G}.");
  if (!gpus && !(nodes && per_node))
    section.reject(nodes      ? "gpus_per_node"
                   : per_node ? "nodes"
                              : "gpus",
                   "is missing", "", "Write {nodes: N, gpus_per_node: G} or {gpus: G}.");
  machine.nodes = nodes.value_or(1);
  machine.gpus_per_node = per_node.value_or(1);
  if (machine.gpus_per_node > kMostGpus / machine.nodes)
    section.reject("nodes", fmt::format("expected at most {} GPUs in all", kMostGpus));
  if (!gpus) return {machine};
  std::vector<Machine> machines;
  for (const int count : *gpus) {
    if (count < 1 || count > kMostGpus)
      section.reject("gpus", fmt::format("expected between 1 and {}, got {}", kMostGpus, count));
    machine.gpus_per_node = count;
    machines.push_back(machine);
  }
  if (machines.empty()) section.reject("gpus", "is an empty list");
  if (machines.size() > kMostMachines)
    section.reject("gpus", fmt::format("expected at most {} machines", kMostMachines));
  return machines;
}

PlanTaskOptions read_task(Section section, Objective objective, const Deck& deck) {
  PlanTaskOptions task;
  task.name = section.require<std::string>("name");
  if (section.has("name") && task.name.empty()) section.reject("name", "is empty");
  task.table = found_path(section.optional_path("table").value_or(""), deck);
  task.results = found_path(section.optional_path("results").value_or(""), deck);
  if (task.table.empty() == task.results.empty())
    section.reject("table", task.table.empty() ? "is missing" : "cannot be combined with results", "",
                   "Name a table of rates or a sweep's results file.");
  task.layout = section.choice<TableLayout>("layout", TableLayout::multicard, kTableLayoutWords);
  if (section.has("layout") && task.table.empty()) section.reject("layout", "is for tables");
  task.batch = section.optional_in_range("batch", 1, std::numeric_limits<int>::max());
  if (task.batch && task.layout != TableLayout::elasticflow)
    section.reject("batch", "is for the layout elasticflow", "whose tables have a row for each global batch");
  const std::optional<double> work = section.optional_in_range("work", kLeastWork, kMostWork);
  if (!section.has("work") && is_about_time(objective)) section.reject("work", "is missing");
  task.work = work.value_or(0);
  task.weight = section.get_in_range("weight", 1.0, kLeastWeight, kMostWeight);
  return task;
}

std::vector<PlanTaskOptions> read_tasks(Section section, const Deck& deck, Objective objective) {
  const Value* list = deck.root().find("tasks");
  std::vector<PlanTaskOptions> tasks;
  for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    tasks.push_back(read_task(section.section(number), objective, deck));
    const auto has_its_name = [&](const PlanTaskOptions& task) { return task.name == tasks.back().name; };
    if (std::any_of(tasks.begin(), tasks.end() - 1, has_its_name))
      section.reject(number + ".name", fmt::format("two tasks are named '{}'", tasks.back().name));
  }
  return tasks;
}

}  // namespace

std::optional<ReplayOptions> read_replay_deck(const Deck& deck) {
  if (const Value* replay = deck.root().find("replay"); replay == nullptr || replay->is_null()) return std::nullopt;
  Section root(deck), section = root.section("replay");
  ReplayOptions options = read_replay_options(section);
  root.finish();
  options.workload = found_path(options.workload, deck);
  options.traces = found_path(options.traces, deck);
  return options;
}

PlanOptions read_plan_options(const Deck& deck) {
  Section root(with_numbered_tasks(deck));
  PlanOptions options;
  options.objective = root.choice<Objective>("objective", Objective::makespan, kObjectiveWords);
  options.machines = read_machines(root.section("machine"));
  options.tasks = read_tasks(root.section("tasks"), deck, options.objective);
  if (options.tasks.empty()) root.reject("tasks", "is missing", "", "Name the tasks that share the machine.");
  if (options.tasks.size() > kMostTasks) root.reject("tasks", fmt::format("expected at most {} tasks", kMostTasks));
  if (root.get("static_only", false)) options.kind = ScheduleKind::static_split;
  root.finish();
  return options;
}

}  // namespace multicard
