#pragma once
/// \file What is known of a key of run decks, besides how it is read.

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/Section.hpp"

namespace multicard {

/// Which decks may have a key.
enum class KeyTasks { any, image, llm };

/// What another value of a key means for those who compare or resume runs. Runs resume only with the same identity,
/// work and learning. Reports compare rates across speed, do not compare them across identity and work, and do not let
/// them decide across learning; runs that differ in bookkeeping alone are repeats.
enum class KeyEffect {
  identity,    ///< another model or other data
  work,        ///< a step computes something else
  learning,    ///< the same work learns something else
  speed,       ///< the training is done another way, at another speed
  bookkeeping  ///< another length, output or record of the run
};

/// Whether a run may resume with another value.
enum class OnResume {
  by_effect,  ///< speed and bookkeeping may change
  same        ///< a resumed run would not be the same training, whatever the effect on rates
};

/// What few keys have.
struct KeyNotes {
  std::string_view fallback = {};  ///< the default in words, where no value says it: "from the shards"
  OnResume on_resume = OnResume::by_effect;
  std::string_view reserved = {};   ///< values, separated by blanks, that are known and not available yet
  std::string_view available = {};  ///< those that are, where others are reserved
};

/// One row of the table of deck keys. Each module that owns options exports its rows; run_keys()
/// (tasks/options/RunOptions.hpp) concatenates them. Types, ranges and defaults are not repeated here: they are noted
/// where values are read (Section::readings).
struct DeckKey {
  std::string_view path;  ///< as in overrides: optimizer.learning_rate
  KeyTasks tasks;
  KeyEffect effect;
  std::string_view label;  ///< in reports: "learning rate"
  std::string_view help;   ///< one line; words of decks stand in backticks
  KeyNotes notes = {};

  bool belongs_to(KeyTasks task) const { return tasks == KeyTasks::any || tasks == task; }
  /// Whether a run resumes only with the same value.
  bool is_fixed() const;
};

using DeckKeys = std::vector<DeckKey>;

/// The rows of all parts, in their order.
DeckKeys concatenated(std::initializer_list<DeckKeys> parts);

/// "image", "llm", "any"
std::string_view text_of(KeyTasks tasks);
/// "identity", "work", "learning", "speed", "bookkeeping"
std::string_view text_of(KeyEffect effect);

/// The row of `path`, or nullptr.
const DeckKey* find_key(std::span<const DeckKey> keys, std::string_view path);

/// The table as Section takes it for suggestions: keys that not all decks have with their task.
std::vector<KnownKey> known_keys(std::span<const DeckKey> keys);

/// Rejects keys and sections of `deck` that only decks of another task than `task` have.
void reject_keys_of_other_tasks(Section& root, const Deck& deck, std::span<const DeckKey> keys, KeyTasks task);

/// Rejects reserved values.
void reject_reserved_values(Section& root, const Deck& deck, std::span<const DeckKey> keys);

}  // namespace multicard
