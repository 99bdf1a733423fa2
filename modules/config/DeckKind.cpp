#include "config/DeckKind.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "config/Words.hpp"

namespace multicard {

namespace {

constexpr Word<DeckKind> kKindWords[] = {
    {"run", DeckKind::run}, {"sweep", DeckKind::sweep}, {"share", DeckKind::share}, {"plan", DeckKind::plan}};

/// Keys that decks of one kind alone have. Those of run decks may also stand in a sweep.
constexpr std::array<FoundKind, 11> kDecidingKeys{{{DeckKind::sweep, "base"},
                                                   {DeckKind::sweep, "sweep"},
                                                   {DeckKind::plan, "replay"},
                                                   {DeckKind::plan, "machine"},
                                                   {DeckKind::share, "policy"},
                                                   {DeckKind::share, "arrivals"},
                                                   {DeckKind::run, "task"},
                                                   {DeckKind::run, "model"},
                                                   {DeckKind::run, "method"},
                                                   {DeckKind::run, "data"},
                                                   {DeckKind::run, "optimizer"}}};

bool is_set(const Value& map, std::string_view key) {
  const Value* value = map.find(key);
  return value != nullptr && !value->is_null();
}

/// Tasks that are not to be run: what is known of them stands in files.
bool has_measured_tasks(const Value& tasks) {
  return std::any_of(tasks.items.begin(), tasks.items.end(), [](const Value& task) {
    return task.is_map() && (is_set(task, "table") || is_set(task, "results"));
  });
}

/// The first deciding key of each kind that the deck has keys of.
std::vector<FoundKind> kinds_in(const Value& root) {
  // In the order of the table, where sweep comes first: kind_of() looks there for it.
  std::vector<FoundKind> found;
  const auto add = [&](const FoundKind& one) {
    if (std::none_of(found.begin(), found.end(), [&](const FoundKind& other) { return other.kind == one.kind; }))
      found.push_back(one);
  };
  for (const FoundKind& one : kDecidingKeys)
    if (is_set(root, one.key)) add(one);
  if (!is_set(root, "tasks")) return found;
  const bool is_plan = is_set(root, "machine") || has_measured_tasks(*root.find("tasks"));
  add({is_plan ? DeckKind::plan : DeckKind::share, "tasks"});
  return found;
}

}  // namespace

std::optional<FoundKind> kind_of(const Deck& deck) {
  std::vector<FoundKind> found = kinds_in(deck.root());
  const auto is_run = [](const FoundKind& one) { return one.kind == DeckKind::run; };
  if (!found.empty() && found.front().kind == DeckKind::sweep) std::erase_if(found, is_run);
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

void check_kind(const Deck& deck, DeckKind wanted) {
  // A deck that says nothing of its kind, or contradicts itself, is left to the reader of the command that was given.
  const std::optional<FoundKind> found = kind_of(deck);
  if (!found || found->kind == wanted) return;
  const std::string_view kind = word_of<DeckKind>(found->kind, kKindWords);
  throw UsageError(
      fmt::format("deck {} is a {} deck, not a {} deck", deck.name(), kind, word_of<DeckKind>(wanted, kKindWords)),
      fmt::format("it has the key {}", found->key),
      fmt::format("Start it with multicard {} {}, or name a {} deck.", kind, deck.name(),
                  word_of<DeckKind>(wanted, kKindWords)));
}

Deck load_deck(const std::string& path, DeckKind wanted, const std::vector<std::string>& overrides) {
  Deck deck = Deck::load(path, overrides);
  check_kind(deck, wanted);
  return deck;
}

}  // namespace multicard
