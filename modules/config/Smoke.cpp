#include "config/Smoke.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "config/DeckKind.hpp"
#include "config/Scalar.hpp"
#include "config/SweepOptions.hpp"
#include "config/Yaml.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMostSteps = 4, kMostSkippedSteps = 1, kMostTaskSteps = 12;
constexpr std::int64_t kMostRowsPerRank = 8;
constexpr std::int64_t kMostSamples = 32, kMostNewTokens = 32, kMostRepeats = 2;
constexpr std::size_t kMostValues = 2;  ///< of an axis, of questions and of prompts

/// Lengths of runs.
constexpr const char* kLengths[] = {"run.steps", "run.epochs"};

/// The value at `path`, or nullptr where there is none or null.
const Value* given(const Value& root, const std::string& path) {
  const Value* value = root.find_path(path);
  return value == nullptr || value->is_null() ? nullptr : value;
}

template <class T>
std::optional<T> number_at(const Value& root, const std::string& path) {
  const Value* value = given(root, path);
  return value != nullptr && value->kind == Value::Kind::scalar ? Scalar<T>::parse(*value) : std::nullopt;
}

template <class T>
void limit_if_given(Deck& deck, const std::string& path, T most) {
  const auto number = number_at<T>(deck.root(), path);
  if (number && *number > most) deck.apply({{path, to_value(most)}});
}

template <class T>
void limit(Deck& deck, const std::string& path, T most) {
  if (given(deck.root(), path) == nullptr)
    deck.apply({{path, to_value(most)}});
  else
    limit_if_given(deck, path, most);
}

/// \param steps, skip_steps paths of the two
void limit_steps(Deck& deck, const char* steps, const char* skip_steps) {
  // Fewer skipped steps than steps: one must be left that is measured.
  limit(deck, steps, kMostSteps);
  limit(deck, skip_steps, std::min(kMostSkippedSteps, number_at<std::int64_t>(deck.root(), steps).value_or(2) - 1));
}

bool has_test_data(const Deck& deck) {
  // A deck without any data means the default data set, which has a test part, unless data.test is null.
  if (given(deck.root(), "data.test") != nullptr) return true;
  return given(deck.root(), "data.train") == nullptr && deck.root().find_path("data.test") == nullptr;
}

/// One that the deck has, or else an evaluation at the end of the run.
void evaluate_once(Deck& deck) {
  const auto is_off = [&](const char* key) { return number_at<std::int64_t>(deck.root(), key) == 0; };
  if (given(deck.root(), "evaluate.every_steps") != nullptr && !is_off("evaluate.every_steps")) return;
  if (is_off("evaluate.every_epochs")) deck.set("evaluate.every_epochs", "1");
}

/// The `num` smallest of the numbers of ranks that a job of `num_ranks` has, in the order written. All of them where it
/// has none, which is then an error like any other.
std::vector<Value> smallest_ranks(std::vector<Value> values, int num_ranks) {
  const auto ranks = [](const Value& value) { return Scalar<int>::parse(value).value_or(0); };
  std::vector<int> there;
  for (const Value& value : values)
    if (ranks(value) <= num_ranks) there.push_back(ranks(value));
  if (there.empty()) return values;
  std::sort(there.begin(), there.end());
  const int largest = there[std::min(kMostValues, there.size()) - 1];
  std::erase_if(values, [&](const Value& value) { return ranks(value) > largest; });
  if (values.size() > kMostValues) values.resize(kMostValues);
  return values;
}

std::vector<Value> first_ranks(int num_ranks) {
  std::vector<Value> values;
  for (int ranks = 1; ranks <= std::min(num_ranks, static_cast<int>(kMostValues)); ++ranks)
    values.push_back(to_value(ranks));
  return values;
}

/// The axis with fewer values.
void shorten_axis(const std::string& key, Value& axis, int num_ranks) {
  if (key == "ranks" && (axis == kAllRanks || axis.items == std::vector{kAllRanks})) {
    axis = Value();
    axis.kind = Value::Kind::list;
    axis.items = first_ranks(num_ranks);
  } else if (key == "ranks") {
    axis.items = smallest_ranks(axis.items, num_ranks);
  } else if (axis.kind == Value::Kind::list && axis.items.size() > kMostValues) {
    axis.items.resize(kMostValues);
  }
  if (key == "cases")
    for (Value& one : axis.items)
      for (const char* length : kLengths)
        one.erase_path(length);
}

/// Axes are written with dots; overrides of them arrive as maps in maps.
void shorten_axes(Value& axes, int num_ranks) {
  for (std::size_t i = 0; i < axes.keys.size(); ++i)
    if (axes.items[i].is_map())
      shorten_axes(axes.items[i], num_ranks);
    else
      shorten_axis(axes.keys[i], axes.items[i], num_ranks);
}

/// What a task of a share does: its own steps, those of its overrides, or those of its deck.
std::int64_t steps_of(const Value& task) {
  const Value* overrides = task.find("overrides");
  for (const auto& steps : {number_at<std::int64_t>(task, "steps"),
                            overrides == nullptr ? std::nullopt : number_at<std::int64_t>(*overrides, "run.steps"),
                            number_at<std::int64_t>(task, "deck.run.steps")})
    if (steps) return std::min(*steps, kMostTaskSteps);
  return kMostTaskSteps;
}

void shorten_task(Value& task) {
  task.set_path("steps", to_value(steps_of(task)));
  task.erase_path("epochs");
  const Value* deck = task.find("deck");
  if (deck == nullptr || !deck->is_map()) return;
  Deck of_task = Deck::parse(emit_yaml(*deck), "");
  limit_evaluation(of_task);
  task.set_path("deck", of_task.root());
}

}  // namespace

Value take_section(Deck& deck, const std::string& name) {
  const Value* there = deck.root().find(name);
  if (there == nullptr) return {};
  if (!there->is_null() && !there->is_map())
    throw UsageError(fmt::format("deck {}, {}: expected keys of such decks with their values", deck.name(), name));
  Value section = *there;
  deck.erase(name);
  return section;
}

Deck load_run_deck(const std::string& path, const std::vector<std::string>& overrides) {
  Deck deck = load_deck(path, DeckKind::run, overrides);
  take_section(deck, "smoke");
  return deck;
}

Deck load_smoke_run_deck(const std::string& path, const std::vector<std::string>& overrides, int num_ranks) {
  const Deck::Assignments layer = parse_overrides(overrides);
  Deck deck = load_deck(path, DeckKind::run, overrides);
  deck.merge(take_section(deck, "smoke"));
  // Twice: before, since what is shortened depends on them (the unit of the length, say); after, since they win.
  deck.apply(layer);
  shorten_run(deck, num_ranks);
  write_apart(deck, kDefaultRunOutput, layer);
  deck.apply(layer);
  return deck;
}

void shorten_run(Deck& deck, int num_ranks) {
  // As a layer of its own, which removes run.epochs (Deck::apply).
  limit_steps(deck, "run.steps", "profile.skip_steps");
  if (given(deck.root(), "run.batch_per_rank") != nullptr)
    limit_if_given(deck, "run.batch_per_rank", kMostRowsPerRank);
  else
    limit(deck, "run.global_batch", kMostRowsPerRank * num_ranks);
  limit_if_given<std::int64_t>(deck, "schedule.warmup_steps", 1);
  deck.set("run.log_every", "1");
  if (has_test_data(deck)) evaluate_once(deck);
  limit_evaluation(deck);
}

void shorten_sweep(Deck& sweep, Deck& base, int num_ranks) {
  // limits.steps sets the length of all variants, and refuses another one in the sweep itself.
  for (const char* length : kLengths) {
    sweep.erase(length);
    sweep.erase(fmt::format("sweep.{}", length));
  }
  limit_steps(sweep, "limits.steps", "limits.skip_steps");
  limit_if_given(sweep, "repeat", kMostRepeats);
  if (const Value* axes = given(sweep.root(), "sweep"); axes != nullptr && axes->is_map()) {
    Value fewer = *axes;
    shorten_axes(fewer, num_ranks);
    sweep.apply({{"sweep", std::move(fewer)}});
  }
  if (given(sweep.root(), "evaluate") != nullptr) {
    limit_evaluation(sweep);
    limit_evaluation(base);
  }
}

void shorten_share(Deck& share) {
  if (const Value* tasks = given(share.root(), "tasks"); tasks != nullptr && tasks->kind == Value::Kind::list) {
    Value shorter = *tasks;
    for (Value& task : shorter.items)
      if (task.is_map()) shorten_task(task);
    share.apply({{"tasks", std::move(shorter)}});
  }
  limit(share, "policy.interval_s", 1.0);
  limit_if_given(share, "arrivals.wait_s", 1.0);
}

void limit_evaluation(Deck& deck) {
  if (has_test_data(deck)) limit(deck, "evaluate.limit", kMostSamples);
  if (given(deck.root(), "evaluate.questions") != nullptr) {
    limit(deck, "evaluate.questions.limit", static_cast<std::int64_t>(kMostValues));
    limit(deck, "evaluate.questions.max_new", kMostNewTokens);
  }
  const Value* prompts = given(deck.root(), "evaluate.prompts");
  if (prompts == nullptr) return;
  limit(deck, "evaluate.max_new", kMostNewTokens);
  if (prompts->kind != Value::Kind::list || prompts->items.size() <= kMostValues) return;
  Value first = *prompts;
  first.items.resize(kMostValues);
  deck.apply({{"evaluate.prompts", std::move(first)}});
}

void write_apart(Deck& deck, const std::string& output, const Deck::Assignments& overrides) {
  Value together = Value::map();
  for (const auto& [path, value] : overrides)
    together.set_path(path, value);
  if (given(together, "run.output") != nullptr) return;
  std::string own = given(deck.root(), "run.output") == nullptr ? output : deck.get_text("run.output");
  while (own.size() > 1 && own.ends_with('/'))
    own.pop_back();
  // Resuming would find the smoke run of yesterday, which has done all its steps, and show nothing.
  deck.apply({{"run.output", to_value(own + "_smoke")}, {"run.resume", Value::scalar("never")}});
}

}  // namespace multicard
