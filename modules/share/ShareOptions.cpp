#include "share/ShareOptions.hpp"

#include <algorithm>
#include <cctype>
#include <limits>

#include <fmt/format.h>

#include "config/DeckKind.hpp"
#include "config/DeckLimits.hpp"
#include "config/Section.hpp"
#include "config/Yaml.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

namespace {

constexpr int kMostRanks = 1 << 20;

/// Keys of a task's run deck that the share deck decides for all tasks.
constexpr const char* kCommonKeys[] = {"run.output", "run.resume", "run.wall_limit", "run.timeout_s", "run.device"};

[[noreturn]] void refuse(const Deck& deck, const std::string& key, const std::string& problem,
                         const std::string& why = {}, const std::string& suggestion = {}) {
  throw UsageError(fmt::format("deck {}, {}: {}", deck.name(), key, problem), why, suggestion);
}

const Value& task_list(const Deck& deck) {
  const Value* tasks = deck.root().find("tasks");
  if (tasks == nullptr || tasks->is_null()) {
    static const Value nothing = [] {
      Value list;
      list.kind = Value::Kind::list;
      return list;
    }();
    return nothing;
  }
  if (tasks->kind != Value::Kind::list ||
      !std::all_of(tasks->items.begin(), tasks->items.end(), [](const Value& entry) { return entry.is_map(); }))
    refuse(deck, "tasks", "expected a list of tasks", "", "Write - {name: WORD, deck: FILE} for each.");
  return *tasks;
}

/// The entry with the deck that it names in the place of the name.
Value with_deck(const Deck& share, const Value& entry, const std::string& place, RunScale scale) {
  const Value* deck = entry.find("deck");
  if (deck == nullptr || deck->is_null()) refuse(share, place + ".deck", "is missing", "", "Name the run deck.");
  if (deck->is_map()) return entry;
  if (deck->kind != Value::Kind::scalar) refuse(share, place + ".deck", "expected the path of a run deck");
  Value whole = entry;
  Deck of_task = load_deck(share.resolve_path(deck->text), DeckKind::run);
  const Value smoke = take_section(of_task, "smoke");
  if (scale == RunScale::smoke) of_task.merge(smoke);
  whole.set_path("deck", of_task.root());
  return whole;
}

/// A task's run deck: the deck named, then the entry's overrides, then its length.
Deck run_deck_of(const Deck& share, const Value& entry, const std::string& task, const std::string& place) {
  const Value* base = entry.find("deck");
  if (base == nullptr || !base->is_map()) refuse(share, place + ".deck", "is missing", "", "Name the run deck.");
  // By text, so that messages about keys of this deck name the share deck and the task.
  Deck deck = Deck::parse(emit_yaml(*base), fmt::format("{}, task {}", share.name(), task));
  if (const Value* overrides = entry.find("overrides"); overrides != nullptr && !overrides->is_null()) {
    if (!overrides->is_map()) refuse(share, place + ".overrides", "expected keys of run decks with their values");
    Deck::Assignments layer;
    for (std::size_t i = 0; i < overrides->keys.size(); ++i)
      layer.emplace_back(overrides->keys[i], overrides->items[i]);
    deck.apply(layer);
  }
  for (const char* length : {"epochs", "steps"})
    if (const Value* value = entry.find(length); value != nullptr && !value->is_null())
      deck.apply({{fmt::format("run.{}", length), *value}});
  return deck;
}

/// Takes from the deck what the share deck decides, and notes it; refuses a batch that depends on the ranks.
void take_common_keys(Deck& deck, const std::string& task, const Deck& share, std::vector<std::string>& unused) {
  if (!deck.get_text("run.batch_per_rank").empty())
    refuse(share, fmt::format("task {}, run.batch_per_rank", task), "cannot be shared",
           "the batch would change with the ranks of the task", "Set run.global_batch instead.");
  Value root = deck.root();
  for (const char* key : kCommonKeys)
    if (root.find_path(key) != nullptr) {
      unused.push_back(fmt::format("{}: {}", task, key));
      root.erase_path(key);
    }
  deck = Deck::parse(emit_yaml(root), deck.name());
}

bool is_file_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

ShareTaskOptions read_task(Section section, const Value& entry, const Deck& share, const std::string& place,
                           std::vector<std::string>& unused) {
  ShareTaskOptions task;
  task.name = section.require<std::string>("name");
  if (section.has("name") && !is_file_name(task.name))
    section.reject("name", fmt::format("'{}' cannot be the name of a folder", task.name), "",
                   "Use letters, digits, '-', '_' and '.', at most 64.");
  task.weight = section.get_in_range("weight", 1.0, kLeastWeight, kMostWeight);
  task.min_ranks = section.get_in_range("min_ranks", 1, 1, kMostRanks);
  task.max_ranks = section.optional_in_range("max_ranks", 1, kMostRanks);
  if (task.max_ranks && *task.max_ranks < task.min_ranks)
    section.reject("max_ranks", "expected at least min_ranks", fmt::format("which is {}", task.min_ranks));
  // Read apart: run_deck_of() takes these from the entry itself.
  for (const char* key : {"deck", "overrides", "epochs", "steps"})
    section.has(key);
  if (section.has("epochs") && section.has("steps")) section.reject("epochs", "cannot be set together with steps");
  task.deck = run_deck_of(share, entry, task.name, place);
  take_common_keys(task.deck, task.name, share, unused);
  return task;
}

SharePolicyOptions read_policy(Section section, const Deck& deck) {
  SharePolicyOptions policy;
  policy.name = section.choice<SharePolicyName>("name", policy.name, kSharePolicyWords);
  policy.interval_s = section.get_in_range("interval_s", policy.interval_s, kLeastInterval, most::kSeconds);
  policy.min_gain = section.get_in_range("min_gain", policy.min_gain, 0.0, kBelowOne);
  Section ranks = section.section("ranks");
  if (const Value* given = deck.root().find_path("policy.ranks"); given != nullptr && given->is_map())
    for (const std::string& name : given->keys)
      policy.ranks[name] = ranks.get_in_range(name, 1, 1, kMostRanks);
  if (policy.name == SharePolicyName::fixed && policy.ranks.empty())
    section.reject("ranks", "is missing", "the policy is fixed", "Write {TASK: RANKS, ...}.");
  if (policy.name != SharePolicyName::fixed && !policy.ranks.empty())
    section.reject("ranks", "is for the policy fixed");
  policy.placement = section.choice<Spread>("placement", policy.placement, kSpreadWords);
  if (policy.name == SharePolicyName::adaptive && section.has("placement"))
    section.reject("placement", "is for the policies equal, sequential and fixed",
                   "adaptive decides about nodes itself");
  return policy;
}

ShareRunOptions read_run(Section section) {
  ShareRunOptions run;
  run.output = section.path("output", run.output);
  if (run.output.empty()) section.reject("output", "is empty", "", "Name a folder.");
  run.device = section.choice<DeviceRequest>("device", run.device, kDeviceWords);
  run.resume = section.choice("resume", run.resume, kResumeWords);
  run.wall_limit = section.duration("wall_limit");
  run.timeout_s = section.get_in_range("timeout_s", run.timeout_s, kLeastInterval, most::kSeconds);
  run.checkpoint_every_s =
      section.get_in_range("checkpoint_every_s", run.checkpoint_every_s, kLeastInterval, most::kSeconds);
  return run;
}

void check_tasks(Section& root, const ShareOptions& options) {
  for (std::size_t i = 0; i < options.tasks.size(); ++i)
    for (std::size_t other = 0; other < i; ++other)
      if (options.tasks[i].name == options.tasks[other].name)
        root.reject("tasks", fmt::format("two tasks are named '{}'", options.tasks[i].name));
  for (const auto& entry : options.policy.ranks)
    if (std::none_of(options.tasks.begin(), options.tasks.end(),
                     [&](const auto& task) { return task.name == entry.first; }))
      root.reject("policy.ranks", fmt::format("no task is named '{}'", entry.first));
  for (const ShareTaskOptions& task : options.tasks) {
    const auto fixed = options.policy.ranks.find(task.name);
    if (options.policy.name == SharePolicyName::fixed &&
        (fixed == options.policy.ranks.end() || fixed->second < task.min_ranks))
      root.reject("policy.ranks", fmt::format("gives task '{}' less than it needs, {}", task.name, task.min_ranks));
  }
  if (options.tasks.empty() && !options.arrivals.folder)
    root.reject("tasks", "is missing", "", "Name the tasks that share the ranks, or a folder of arrivals.");
}

/// Applies `tasks.N.overrides.KEY=VALUE`, whose KEY is one of a run deck with all its dots, and the others.
/// A key with dots is one key of the map `overrides`, as in a deck ("run.steps: 5"); as a path it would become nested
/// maps.
void apply_overrides(Deck& share, const std::vector<std::string>& overrides) {
  constexpr std::string_view kPart = ".overrides.";
  Deck::Assignments others;
  for (auto& [path, value] : parse_overrides(overrides)) {
    const std::size_t part = path.starts_with("tasks.") ? path.find(kPart) : std::string::npos;
    if (part == std::string::npos) {
      others.emplace_back(path, std::move(value));
      continue;
    }
    const std::string of_task = path.substr(0, part + kPart.size() - 1), key = path.substr(part + kPart.size());
    const Value* known = share.root().find_path(of_task);
    Value layer = known == nullptr || !known->is_map() ? Value::map() : *known;
    if (const auto at = std::ranges::find(layer.keys, key); at != layer.keys.end()) {
      layer.items[static_cast<std::size_t>(at - layer.keys.begin())] = std::move(value);
    } else {
      layer.keys.push_back(key);
      layer.items.push_back(std::move(value));
    }
    share.apply({{of_task, std::move(layer)}});
  }
  share.apply(others);
}

void load_task_decks(Deck& share, RunScale scale) {
  Value tasks = task_list(share);
  for (std::size_t i = 0; i < tasks.items.size(); ++i)
    tasks.items[i] = with_deck(share, tasks.items[i], fmt::format("tasks.{}", i + 1), scale);
  share.apply({{"tasks", std::move(tasks)}});
}

/// Reports errors in a task's deck before any task is built.
void check_run_deck(const ShareTaskOptions& task) {
  static_cast<void>(read_run_options(task.deck));
}

}  // namespace

Deck load_share_deck(const std::string& path, const std::vector<std::string>& overrides, RunScale scale) {
  Deck share = Deck::load(path);
  const Value smoke = take_section(share, "smoke");
  if (scale == RunScale::smoke) share.merge(smoke);
  apply_overrides(share, overrides);
  check_kind(share, DeckKind::share);
  load_task_decks(share, scale);
  if (scale == RunScale::full) return share;
  shorten_share(share);
  write_apart(share, ShareRunOptions().output, parse_overrides(overrides));
  apply_overrides(share, overrides);
  load_task_decks(share, scale);  // that an override has named
  return share;
}

ShareOptions read_share_options(const Deck& deck) {
  const Value& list = task_list(deck);
  Section root(deck);
  ShareOptions options;
  options.objective = root.choice<Objective>("objective", Objective::makespan, kObjectiveWords);
  const std::vector<Section> tasks = root.sections("tasks");
  for (std::size_t i = 0; i < tasks.size(); ++i)
    options.tasks.push_back(read_task(tasks[i], list.items[i], deck, fmt::format("tasks.{}", i + 1), options.unused));
  options.policy = read_policy(root.section("policy"), deck);
  Section arrivals = root.section("arrivals");
  options.arrivals.folder = arrivals.optional_path("folder");
  options.arrivals.wait_s = arrivals.get_in_range("wait_s", 0.0, 0.0, most::kSeconds);
  options.run = read_run(root.section("run"));
  check_tasks(root, options);
  root.finish();
  for (const ShareTaskOptions& task : options.tasks)
    check_run_deck(task);
  return options;
}

Deck load_arrival(const std::string& path) {
  Deck entry = Deck::load(path);
  const Value whole = with_deck(entry, entry.root(), "task", RunScale::full);
  return Deck::parse(emit_yaml(whole), path);
}

ShareTaskOptions read_arrival(const Deck& entry, const ShareOptions& options, std::vector<std::string>& unused) {
  Section root(entry);
  ShareTaskOptions task = read_task(root, entry.root(), entry, "task", unused);
  root.finish();
  check_run_deck(task);
  if (std::any_of(options.tasks.begin(), options.tasks.end(), [&](const auto& one) { return one.name == task.name; }))
    refuse(entry, "name", fmt::format("a task is named '{}' already", task.name));
  return task;
}

}  // namespace multicard
