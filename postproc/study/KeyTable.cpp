#include "postproc/study/KeyTable.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

/// Attributes of runs that are not keys of decks: name, label, effect. Those of where and how long a run was, and what
/// it scored, make no configuration.
const std::array kAttributes{SettingKey{"ranks", "ranks", "bookkeeping"},
                             SettingKey{"repeat", "repeat", "bookkeeping"},
                             SettingKey{"first_step", "first step", "bookkeeping"},
                             SettingKey{"quick", "quick", "bookkeeping"},
                             SettingKey{"accuracy", "accuracy", "bookkeeping"},
                             SettingKey{"top5", "top5", "bookkeeping"},
                             SettingKey{"loss", "loss", "bookkeeping"},
                             SettingKey{"samples", "samples", "bookkeeping"},
                             SettingKey{"weights", "weights", "bookkeeping"},
                             SettingKey{"machine", "machine", "work"},
                             SettingKey{"device", "device", "work"},
                             SettingKey{"scaling", "scaling", "work"},
                             SettingKey{"dataset", "dataset", "work"},
                             SettingKey{"model_dtype", "model type", "speed"}};

bool is_path(const std::string& key) {
  return key.find('.') != std::string::npos;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

KeyTable::KeyTable(const std::vector<Source>& sources) {
  for (const Source& source : sources)
    for (const SettingKey& key : source.keys) {
      const auto is_it = [&](const SettingKey& other) { return other.key == key.key; };
      if (std::none_of(keys_.begin(), keys_.end(), is_it)) keys_.push_back(key);
    }
}

const SettingKey* KeyTable::find(const std::string& key) const {
  const auto in = [&](const auto& keys, const auto& is_it) -> const SettingKey* {
    const auto found = std::find_if(keys.begin(), keys.end(), is_it);
    return found == keys.end() ? nullptr : &*found;
  };
  const std::string name = short_key(key);
  const auto is_key = [&](const SettingKey& one) { return one.key == key; };
  const auto is_attribute = [&](const SettingKey& one) { return one.key == name; };
  if (is_path(key)) {
    const SettingKey* known = in(keys_, is_key);
    return known ? known : in(kAttributes, is_attribute);
  }
  if (const SettingKey* attribute = in(kAttributes, is_attribute)) return attribute;
  return in(keys_, [&](const SettingKey& one) { return short_key(one.key) == name; });
}

std::string KeyTable::effect(const std::string& key) const {
  const SettingKey* found = find(key);
  return found ? found->effect : "speed";
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

std::string KeyTable::label(const std::string& key) const {
  const SettingKey* found = find(key);
  return found ? found->label : with_blanks(short_key(key));
}

std::string KeyTable::label(const std::string& key, const std::string& value) const {
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
  if (value == "true") return label(key);
  if (value == "false") return "no " + label(key);
  if (is_one_of(name, {"strategy", "precision", "layout", "case", "method", "dataset", "task", "machine"}))
    return value;
  return label(key) + " " + value;
}

}  // namespace multicard::post
