#pragma once
/// \file Which command a deck is for.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/Deck.hpp"

namespace multicard {

/// Named for the command that reads such decks; those of plan also describe replays.
enum class DeckKind { run, sweep, share, plan };

/// A kind, and the top-level key of the deck that decides it.
struct FoundKind {
  DeckKind kind;
  std::string_view key;
};

/// What the top-level keys of a deck say of its kind: base or sweep, a sweep; replay, machine, or tasks with a table or
/// results, a plan; other tasks, policy or arrivals, a share; task, model, method or data without these, a run. Nothing
/// where they say nothing, or are of several kinds.
std::optional<FoundKind> kind_of(const Deck& deck);

/// To be called before a deck is read: in one of another kind the reader would complain about single keys.
/// \throws UsageError naming the kind of `deck` and its command, when that is not `wanted`
void check_kind(const Deck& deck, DeckKind wanted);

/// Deck::load() with that check. \throws as both
Deck load_deck(const std::string& path, DeckKind wanted, const std::vector<std::string>& overrides = {});

}  // namespace multicard
