#include "postproc/study/KeyTable.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

/// Attributes of runs that are not keys of decks: name, label, effect. Those of where and how long a run was, and what
/// it scored, make no configuration.
const std::array kAttributes{SettingKey{"ranks", "ranks", "bookkeeping"},
                             SettingKey{"repeat", "repeat", "bookkeeping"},
                             SettingKey{"first_step", "first step", "bookkeeping"},
                             SettingKey{"diverged_step", "diverged step", "bookkeeping"},
                             SettingKey{"quick", "quick", "bookkeeping"},
                             SettingKey{"smoke", "smoke", "bookkeeping"},
                             SettingKey{"accuracy", "accuracy", "bookkeeping"},
                             SettingKey{"top5", "top5", "bookkeeping"},
                             SettingKey{"loss", "loss", "bookkeeping"},
                             SettingKey{"samples", "samples", "bookkeeping"},
                             SettingKey{"machine", "machine", "work"},
                             SettingKey{"share_task", "task of the job", "identity"},
                             SettingKey{"device", "device", "work"},
                             SettingKey{"scaling", "scaling", "work"},
                             SettingKey{"dataset", "dataset", "work"},
                             SettingKey{"model_dtype", "model type", "speed"}};

/// Attributes that say what a run resolved by itself or found in its inputs and on its machine. What was set is
/// in its deck.
constexpr std::array<std::string_view, 11> kResolved{
    "threads",   "micro_batch",    "backend",      "global_batch",       "device", "max_length", "peak_flops_per_s",
    "sequences", "num_parameters", "architecture", "device_memory_bytes"};

/// Deck paths have a dot; attributes of runs and sections of decks do not.
bool is_path(const std::string& key) {
  return key.find('.') != std::string::npos;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

KeyTable::KeyTable(const std::vector<Source>& sources) {
  for (const Source& source : sources)
    for (const SettingKey& key : source.keys)
      if (by_path_.emplace(key.key, key).second) paths_.emplace(short_key(key.key), key.key);
}

/// A path that a deck has is itself, but for run.device, which says again where a run was; then attributes of runs, by
/// their names or at the end of a path.
const SettingKey* KeyTable::find(const std::string& key) const {
  const std::string name = short_key(key);
  if (const auto known = by_path_.find(key); is_path(key) && known != by_path_.end() && name != "device")
    return &known->second;
  const auto attribute = std::ranges::find_if(kAttributes, [&](const SettingKey& one) { return one.key == name; });
  if (attribute != kAttributes.end()) return &*attribute;
  const auto path = paths_.find(key);
  const auto found = by_path_.find(is_path(key) || path == paths_.end() ? key : path->second);
  return found == by_path_.end() ? nullptr : &found->second;
}

/// Of a section the strongest effect of its keys.
std::string KeyTable::effect(const std::string& key) const {
  if (const SettingKey* found = find(key)) return found->effect;
  const std::string section = key + ".";
  std::set<std::string> effects;
  for (auto one = by_path_.lower_bound(section); one != by_path_.end() && one->first.starts_with(section); ++one)
    effects.insert(one->second.effect);
  for (const char* effect : {"identity", "work", "learning", "speed", "bookkeeping"})
    if (effects.contains(effect)) return effect;
  return "speed";
}

bool KeyTable::changes_work(const std::string& key) const {
  return effect(key) == "work" || effect(key) == "identity";
}

bool KeyTable::changes_learning(const std::string& key) const {
  return effect(key) == "learning";
}

bool KeyTable::is_bookkeeping(const std::string& key) const {
  return effect(key) == "bookkeeping";
}

bool KeyTable::is_resolved(const std::string& key) const {
  return std::ranges::find(kResolved, key) != kResolved.end();
}

std::string KeyTable::label(const std::string& key) const {
  const SettingKey* found = find(key);
  return found && !found->label.empty() ? found->label : spaced(short_key(key));
}

std::string KeyTable::label(const std::string& key, const std::string& value) const {
  // Values of files that others wrote may have any length.
  if (value.size() > kLongestLabel) return label(key, short_value(value));
  const std::string name = short_key(key);
  if (value.empty() || value == "null") return label(key) + " not set";
  if (value == "default") return label(key) + " as by default";
  if (name == "ranks") return counted_text(value, "rank");
  if (name == "model") return last_name(value);
  if (name == "image_size") return value + " px";
  if (name == "global_batch") return "batch " + value;
  if (name == "batch_per_rank") return "batch " + value + " per rank";
  if (name == "pin_memory") return value == "true" || value == "1" ? "pinned" : "not pinned";
  if (name == "pipeline") return value + " pipeline";
  if (name == "bucket_mb") return value == "auto" ? "auto buckets" : value + " MB buckets";
  if (name == "gradient_dtype") return value == "same" ? "unconverted gradients" : value + " gradients";
  if (name == "powersgd_rank") return value == "0" ? "uncompressed gradients" : "PowerSGD of rank " + value;
  if (value == "true") return label(key);
  if (value == "false") return "no " + label(key);
  if (is_one_of(name,
                {"strategy", "precision", "layout", "case", "method", "dataset", "task", "machine", "share_task"}))
    return value;
  return label(key) + " " + value;
}

}  // namespace multicard::post
