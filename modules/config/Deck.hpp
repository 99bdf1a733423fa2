#pragma once
/// \file One YAML deck with its overrides applied.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/Value.hpp"

namespace multicard {

/// A deck: a YAML map and the name it goes by in messages. Typed reading is Section's job.
///
/// Values arrive in layers (file, command line, the axes of a sweep); a later layer replaces earlier values. Keys that
/// stand for each other (run.steps and run.epochs, run.batch_per_rank and run.global_batch) replace each other too: a
/// layer that sets one of a pair removes the other that an earlier layer left.
class Deck {
 public:
  using Assignments = std::vector<std::pair<std::string, Value>>;  ///< dotted path and value

  /// Reads `path` and applies overrides of the form `key.path=value` (the value is YAML: a scalar or a flow list or
  /// map; missing keys are made). \throws UsageError when the file cannot be read, on bad YAML, on a bad override.
  static Deck load(const std::string& path, const std::vector<std::string>& overrides = {});
  /// \throws UsageError on bad YAML or when the document is not a map.
  static Deck parse(const std::string& text, const std::string& name);

  /// As messages name it, usually the path of the file.
  const std::string& name() const { return name_; }
  const Value& root() const { return root_; }

  /// The deck as YAML text, which parse() reads back to an equal deck.
  std::string to_yaml() const;

  /// The value at `path` on one line, e.g. "100" or "[1, 2]"; empty when absent.
  std::string get_text(std::string_view path) const;
  /// Applies a layer of one value. \throws UsageError when `yaml_text` is bad YAML or `path` leads through a scalar.
  void set(const std::string& path, const std::string& yaml_text);
  /// Applies one layer of values; each replaces whatever stood at its path.
  void apply(const Assignments& layer);
  /// Removes the value at `path`, if there is one.
  void erase(std::string_view path) { root_.erase_path(path); }
  /// Applies `section` as one layer, map by map: scalars and lists replace, and so do the maps of a section's keys in
  /// which a name holds a dot; other maps are merged.
  void merge(const Value& section);

  /// `file` as seen from the folder of this deck, `~` and `${VAR}` expanded; absolute paths stay.
  std::string resolve_path(const std::string& file) const;

 private:
  std::string name_;
  Value root_ = Value::map();
};

/// Splits overrides `key.path=value` into assignments. \throws UsageError for one without "=", with an empty path or
/// bad YAML after it.
Deck::Assignments parse_overrides(const std::vector<std::string>& overrides);

}  // namespace multicard
