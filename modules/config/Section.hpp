#pragma once
/// \file Typed reading of decks that reports unknown keys.

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/Error.hpp"
#include "config/Deck.hpp"
#include "config/KeySuggestion.hpp"
#include "config/Words.hpp"

namespace multicard {

/// \name Ends of ranges that are not included themselves
/// @{
inline constexpr double kAboveZero = std::numeric_limits<double>::min();
inline constexpr double kBelowOne = 1 - std::numeric_limits<double>::epsilon() / 2;
/// @}

/// How the reader of a key reads it.
struct KeyReading {
  std::string type;      ///< "number, > 0", "integer, 1 ≤ x ≤ 4096", "`host`, `device`"
  std::string fallback;  ///< the default as decks write it; "needed", or "none" where leaving the key out has a meaning
};

/// A key that no reader asked for.
struct UnknownKeyError : UsageError {
  using UsageError::UsageError;
};

/// One map of a deck. Every key asked for is remembered as known. Nothing is thrown while reading: a wrong value is
/// kept back, the default (or a zero) stands in, and finish() throws, unknown keys first, so that a message about a
/// value never hides a mistyped key. A null counts as absent everywhere.
///
/// T is bool, int, std::int64_t, double or std::string.
class Section {
 public:
  /// The deck's top map. \param table keys that are suggested for unknown ones, besides those that are read
  explicit Section(const Deck& deck, std::vector<KnownKey> table = {});

  /// The map at `key`; empty when absent.
  Section section(const std::string& key);

  /// The maps of the list at `key`, whose keys messages name with their number, from 1; none when it is absent.
  std::vector<Section> sections(const std::string& key);

  /// Whether `key` is set to something other than null. Makes it known.
  bool has(const std::string& key);
  /// Whether it is set to a list.
  bool is_list(const std::string& key);

  template <class T>
  T get(const std::string& key, T fallback);
  /// A value between `low` and `high`, both included.
  template <class T>
  T get_in_range(const std::string& key, T fallback, T low, T high);
  template <class T>
  T require(const std::string& key);
  template <class T>
  std::optional<T> optional(const std::string& key);
  template <class T>
  std::optional<T> optional_in_range(const std::string& key, T low, T high);
  /// `auto` (also when absent) is no value.
  template <class T>
  std::optional<T> automatic(const std::string& key, T low, T high);
  /// The same; `word` is no value either, and `is_word` says whether it stands there.
  template <class T>
  std::optional<T> automatic(const std::string& key, T low, T high, const std::string& word, bool& is_word);
  /// A list; a single value counts as a list of one.
  template <class T>
  std::vector<T> list(const std::string& key, std::vector<T> fallback);
  /// The same; none when the key is absent.
  template <class T>
  std::optional<std::vector<T>> optional_list(const std::string& key);

  /// A map of numbers between `low` and `high` by names that may hold dots, in the order written; none when absent.
  template <class T>
  std::vector<std::pair<std::string, T>> numbers_by_name(const std::string& key, T low, T high);

  /// One of `words`; another one is an error that names the nearest.
  template <class E>
  E choice(const std::string& key, E fallback, Words<E> words) {
    return value_of(one_of(key, std::string(word_of(fallback, words)), texts_of(words)), words).value_or(fallback);
  }
  /// A path with `~` and `${VAR}` expanded.
  std::string path(const std::string& key, const std::string& fallback);
  std::optional<std::string> optional_path(const std::string& key);
  /// Seconds, from a number or H:MM:SS.
  std::optional<double> duration(const std::string& key);

  /// Keeps back a UsageError about `key`, e.g. for rules over several keys.
  void reject(const std::string& key, const std::string& problem, const std::string& why = {},
              const std::string& suggestion = {});

  /// Throws what reading the whole deck found, through whichever of its sections it is called: the first unknown key
  /// (UnknownKeyError) of the sections asked for, else the first wrong value (UsageError).
  void finish() const;

  /// The values that reading gave, defaults included, as a deck of the same name.
  Deck resolved() const;

  /// How each key was read so far, in whichever section, by path.
  const std::map<std::string, KeyReading>& readings() const;

 private:
  struct Record;
  Section(std::shared_ptr<Record> record, std::string path);

  const Value* find(const std::string& key);
  std::string full(const std::string& key) const;
  std::string expand(const std::string& key, const std::string& path);
  void wrong_type(const std::string& key, const char* expected, const Value& got);
  template <class T>
  std::optional<T> read(const std::string& key);
  template <class T>
  std::optional<T> read_in_range(const std::string& key, T low, T high);
  template <class T>
  T keep(const std::string& key, T value);
  std::string one_of(const std::string& key, const std::string& fallback, const std::vector<std::string>& allowed);
  void note(const std::string& key, std::string type, std::string fallback);

  std::shared_ptr<Record> record_;
  std::string path_;
};

}  // namespace multicard
