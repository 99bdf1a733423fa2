#pragma once
/// \file What settings are called, and what it means that they differ.

#include <map>
#include <string>
#include <vector>

#include "postproc/reduce/Source.hpp"

namespace multicard::post {

/// What the results files say of their settings. A setting is a key of decks (parallel.strategy) or a section of them,
/// or an attribute that a run writes itself (strategy, dataset): that one is the key with the same short_key(), or one
/// of the few that no deck has. Settings of which no file says anything have their names as labels and count as options
/// that change speed alone.
class KeyTable {
 public:
  KeyTable() = default;
  /// Where files differ, the first one that has a key decides.
  explicit KeyTable(const std::vector<Source>& sources);

  /// The name of a setting in a table's header: "image size".
  std::string label(const std::string& key) const;
  /// "224 px" for image_size, "pinned" for pin_memory true, "batch 64" for global_batch, "ddp-ds" for strategy,
  /// "workers 4" for anything else.
  std::string label(const std::string& key, const std::string& value) const;

  /// Whether the setting changes what is computed rather than how: rates of different values do not compare.
  bool changes_work(const std::string& key) const;
  /// Whether the setting changes what is learnt but not the work: learning rate, weight decay, schedule, …
  bool changes_learning(const std::string& key) const;
  /// Whether it is of a run's length, place or records, which make no other configuration.
  bool is_bookkeeping(const std::string& key) const;
  /// Whether it is an attribute of what a run resolved or found (the rows it computes at once, its backend, the longest
  /// row), not of what its deck sets: it may differ between runs of one configuration.
  bool is_resolved(const std::string& key) const;
  /// Whether a file describes this deck path.
  bool knows(const std::string& path) const { return by_path_.contains(path); }

 private:
  const SettingKey* find(const std::string& key) const;
  std::string effect(const std::string& key) const;

  std::map<std::string, SettingKey> by_path_;
  std::map<std::string, std::string> paths_;  ///< of the first key with a short_key()
};

}  // namespace multicard::post
