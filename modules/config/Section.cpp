#include "config/Section.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "config/DeckLimits.hpp"
#include "config/ForeignNames.hpp"
#include "config/KeySuggestion.hpp"
#include "config/RangeText.hpp"
#include "config/Scalar.hpp"
#include "config/SectionRecord.hpp"
#include "config/Yaml.hpp"

namespace multicard {

namespace {

std::string did_you_mean(const std::optional<std::string>& word) {
  return word ? fmt::format("Did you mean {}?", *word) : "";
}

std::string quoted_word(const std::string& word) {
  return fmt::format("`{}`", word);
}

}  // namespace

Section::Section(const Deck& deck, std::vector<KnownKey> table) : record_(std::make_shared<Record>()) {
  record_->deck = deck;
  record_->table = std::move(table);
  record_->known[""];
}

Section::Section(std::shared_ptr<Record> record, std::string path)
    : record_(std::move(record)), path_(std::move(path)) {}

std::string Section::full(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

const Value* Section::find(const std::string& key) {
  // To ask for a key is to know it: finish() holds what was asked for against what the deck has. So every key must be
  // asked for on every path through the reader, also where its value does not matter.
  std::vector<std::string>& known = record_->known[path_];
  if (std::find(known.begin(), known.end(), key) == known.end()) known.push_back(key);
  const Value* map = record_->at(path_);
  const Value* value = map == nullptr ? nullptr : map->find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Section Section::section(const std::string& key) {
  const Value* value = find(key);
  if (value != nullptr && !value->is_map()) wrong_type(key, "a section of keys", *value);
  Section inner(record_, full(key));
  record_->known[inner.path_];
  return inner;
}

bool Section::has(const std::string& key) {
  return find(key) != nullptr;
}

void Section::reject(const std::string& key, const std::string& problem, const std::string& why,
                     const std::string& suggestion) {
  // The first problem stays, in the order of reading; what follows may be its consequence.
  if (record_->problem) return;
  record_->problem.emplace(fmt::format("deck {}, {}: {}", record_->deck.name(), full(key), problem), why, suggestion);
}

void Section::wrong_type(const std::string& key, const char* expected, const Value& got) {
  reject(key, fmt::format("expected {}, got '{}'", expected, emit_inline(got)));
}

/// What the first reader says stands.
void Section::note(const std::string& key, std::string type, std::string fallback) {
  record_->readings.try_emplace(full(key), KeyReading{std::move(type), std::move(fallback)});
}

const std::map<std::string, KeyReading>& Section::readings() const {
  return record_->readings;
}

template <class T>
T Section::keep(const std::string& key, T value) {
  // After a wrong value this holds the default; finish() throws before a resolved deck is used.
  record_->resolved.set_path(full(key), to_value(value));
  return value;
}

template <class T>
std::optional<T> Section::read(const std::string& key) {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::optional<T> result;
  if (value->kind == Value::Kind::scalar) result = Scalar<T>::parse(*value);
  if (!result) wrong_type(key, Scalar<T>::name, *value);
  return result;
}

template <class T>
std::optional<T> Section::read_in_range(const std::string& key, T low, T high) {
  const std::optional<T> value = read<T>(key);
  if (!value || (*value >= low && *value <= high)) return value;
  reject(key, fmt::format("expected {}, got {}", range_text(low, high), *value));
  return std::nullopt;
}

template <class T>
T Section::get(const std::string& key, T fallback) {
  note(key, Scalar<T>::type, quoted_word(Scalar<T>::text(fallback)));
  return keep(key, read<T>(key).value_or(fallback));
}

template <class T>
T Section::get_in_range(const std::string& key, T fallback, T low, T high) {
  note(key, range_note(Scalar<T>::type, low, high), quoted_word(Scalar<T>::text(fallback)));
  return keep(key, read_in_range(key, low, high).value_or(fallback));
}

template <class T>
T Section::require(const std::string& key) {
  note(key, Scalar<T>::type, "required");
  if (!has(key)) reject(key, "is missing");
  return keep(key, read<T>(key).value_or(T{}));
}

template <class T>
std::optional<T> Section::optional(const std::string& key) {
  note(key, Scalar<T>::type, "none");
  std::optional<T> value = read<T>(key);
  if (value) keep(key, *value);
  return value;
}

template <class T>
std::optional<T> Section::optional_in_range(const std::string& key, T low, T high) {
  note(key, range_note(Scalar<T>::type, low, high), "none");
  std::optional<T> value = read_in_range(key, low, high);
  if (value) keep(key, *value);
  return value;
}

template <class T>
std::optional<T> Section::automatic(const std::string& key, T low, T high) {
  note(key, range_note(Scalar<T>::type, low, high) + ", or `auto`", "`auto`");
  const Value* value = find(key);
  if (value != nullptr && value->text != "auto") return optional_in_range(key, low, high);
  keep(key, std::string("auto"));
  return std::nullopt;
}

template <class T>
std::optional<T> Section::automatic(const std::string& key, T low, T high, const std::string& word, bool& is_word) {
  note(key, fmt::format("{}, `auto` or `{}`", range_note(Scalar<T>::type, low, high), word), "`auto`");
  const Value* value = find(key);
  is_word = value != nullptr && value->kind == Value::Kind::scalar && value->text == word;
  if (!is_word) return automatic(key, low, high);
  keep(key, word);
  return std::nullopt;
}

template <class T>
std::vector<T> Section::list(const std::string& key, std::vector<T> fallback) {
  std::vector<std::string> texts;
  texts.reserve(fallback.size());
  for (const auto& item : fallback)
    texts.push_back(Scalar<T>::text(item));
  note(key, fmt::format("list of {}s", Scalar<T>::type), quoted_word(fmt::format("[{}]", join(texts, ", "))));
  std::vector<T> result = std::move(fallback);
  if (const Value* value = find(key)) {
    result.clear();
    // `key: 3` is read like `key: [3]`.
    const bool many = value->kind == Value::Kind::list;
    for (const Value& item : many ? value->items : std::vector<Value>{*value}) {
      const std::optional<T> one = item.kind == Value::Kind::scalar ? Scalar<T>::parse(item) : std::nullopt;
      if (!one) wrong_type(key, fmt::format("{} or a list of such", Scalar<T>::name).c_str(), *value);
      if (one) result.push_back(*one);
    }
  }
  Value kept;
  kept.kind = Value::Kind::list;
  for (const auto& item : result)
    kept.items.push_back(to_value<T>(item));
  record_->resolved.set_path(full(key), kept);
  return result;
}

template <class T>
std::optional<std::vector<T>> Section::optional_list(const std::string& key) {
  note(key, fmt::format("list of {}s", Scalar<T>::type), "none");
  return has(key) ? std::optional(list<T>(key, {})) : std::nullopt;
}

std::string Section::one_of(const std::string& key, const std::string& fallback,
                            const std::vector<std::string>& allowed) {
  std::vector<std::string> quoted;
  std::transform(allowed.begin(), allowed.end(), std::back_inserter(quoted), quoted_word);
  // Before get(), whose own note would say `string` (the first one stays).
  note(key, join(quoted, ", "), quoted_word(fallback));
  std::string word = get(key, fallback);
  const auto is_allowed = [&](const std::string& one) {
    return std::find(allowed.begin(), allowed.end(), one) != allowed.end();
  };
  if (!is_allowed(word)) {
    const std::optional<std::string> own = own_word(word);
    reject(key, fmt::format("expected one of {}, got '{}'", join(allowed, " | "), word), "",
           did_you_mean(own && is_allowed(*own) ? own : nearest(word, allowed)));
  }
  return word;
}

std::string Section::path(const std::string& key, const std::string& fallback) {
  note(key, "path", fallback.empty() ? "required" : quoted_word(fallback));
  return expand(key, get(key, fallback));
}

std::optional<std::string> Section::optional_path(const std::string& key) {
  note(key, "path", "none");
  const std::optional<std::string> path = optional<std::string>(key);
  return path ? std::optional(expand(key, *path)) : std::nullopt;
}

std::string Section::expand(const std::string& key, const std::string& path) {
  try {
    return expand_path(path);
  } catch (const UsageError& error) {
    reject(key, error.problem(), error.why(), error.suggestion());
    return path;
  }
}

std::optional<double> Section::duration(const std::string& key) {
  note(key, "seconds or H:MM:SS", "none");
  const std::optional<std::string> text = optional<std::string>(key);
  if (!text) return std::nullopt;
  const std::optional<double> seconds = parse_duration(*text);
  if (!seconds || !(*seconds > 0 && std::isfinite(*seconds)))
    reject(key, fmt::format("expected seconds or H:MM:SS, got '{}'", *text));
  else if (*seconds > most::kSeconds)
    reject(key, fmt::format("expected at most {} s, got '{}'", most::kSeconds, *text));
  return seconds;
}

void Section::finish() const {
  // By path, the top first. Only sections that were asked for are looked into: one that was not is itself an unknown
  // key of the section around it.
  for (const auto& [section, known] : record_->known) {
    const Value* map = record_->at(section);
    if (map == nullptr) continue;
    for (const std::string& key : map->keys) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const std::string path = section.empty() ? key : section + "." + key;
      std::optional<std::string> meant = suggested_key(record_->known, record_->table, section, key);
      const Value* value = map->find(key);
      if (!meant && value != nullptr && value->is_map()) meant = suggested_for_section(record_->known, value->keys);
      throw UnknownKeyError(fmt::format("deck {}, {}: unknown key", record_->deck.name(), path),
                            fmt::format("known keys here: {}", join(known, ", ")), did_you_mean(meant));
    }
  }
  if (record_->problem) throw UsageError(*record_->problem);
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define MULTICARD_SECTION_TYPE(T)                                            \
  template T Section::get(const std::string&, T);                            \
  template T Section::require(const std::string&);                           \
  template std::optional<T> Section::optional(const std::string&);           \
  template std::vector<T> Section::list(const std::string&, std::vector<T>); \
  template std::optional<std::vector<T>> Section::optional_list(const std::string&);
#define MULTICARD_SECTION_NUMBER(T)                                               \
  MULTICARD_SECTION_TYPE(T)                                                       \
  template T Section::get_in_range(const std::string&, T, T, T);                  \
  template std::optional<T> Section::optional_in_range(const std::string&, T, T); \
  template std::optional<T> Section::automatic(const std::string&, T, T);         \
  template std::optional<T> Section::automatic(const std::string&, T, T, const std::string&, bool&);
// NOLINTEND(bugprone-macro-parentheses)
MULTICARD_SECTION_TYPE(bool)
MULTICARD_SECTION_TYPE(std::string)
MULTICARD_SECTION_NUMBER(int)
MULTICARD_SECTION_NUMBER(std::int64_t)
MULTICARD_SECTION_NUMBER(double)

}  // namespace multicard
