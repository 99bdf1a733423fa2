#include "postproc/study/Labels.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/Shown.hpp"
#include "base/Text.hpp"

namespace multicard::post {

namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Labels of keys that are unclear by themselves.
constexpr std::array<std::pair<const char*, const char*>, 5> kSaid{{{"model_dtype", "model type"},
                                                                    {"bucket_mb", "bucket size"},
                                                                    {"gradient_dtype", "gradient type"},
                                                                    {"pin_memory", "pinned memory"},
                                                                    {"read", "way of reading"}}};

}  // namespace

std::string short_key(const std::string& key) {
  const std::vector<std::string> parts = split(key, '.');
  if (parts.size() > 1 && parts.back() == "name") return parts[parts.size() - 2];
  if (key == "model.path") return "model";
  return parts.back();
}

std::string last_name(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path.substr(path.find_last_of('/') + 1);
}

std::string key_label(const std::string& key) {
  if (key == "method.rank") return "LoRA rank";  // not the rank of a process
  if (key == "method.alpha") return "LoRA alpha";
  std::string label = short_key(key);
  for (const auto& [name, said] : kSaid)
    if (label == name) return said;
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

std::string short_value(const std::string& value) {
  return shown(value, kLongestLabel);
}

std::string setting_label(const std::string& key, const std::string& value) {
  if (value.size() > kLongestLabel) return setting_label(key, short_value(value));
  const std::string name = short_key(key);
  if (value.empty() || value == "null") return key_label(key) + " not set";
  if (value == "default") return key_label(key) + " as by default";
  if (name == "ranks") return counted_text(value, "rank");
  if (name == "model") return last_name(value);
  if (name == "image_size") return value + " px";
  if (name == "global_batch") return "batch " + value;
  if (name == "batch_per_rank") return "batch " + value + " per rank";
  if (name == "pin_memory") return value == "true" || value == "1" ? "pinned" : "not pinned";
  if (name == "pipeline") return value + " pipeline";
  if (name == "bucket_mb") return value == "auto" ? "auto buckets" : value + " MB buckets";
  if (name == "gradient_dtype") return value == "same" ? "unconverted gradients" : value + " gradients";
  if (value == "true") return key_label(key);
  if (value == "false") return "no " + key_label(key);
  if (is_one_of(name, {"strategy", "precision", "layout", "case", "model", "method", "dataset", "task", "machine"}))
    return value;
  return key_label(key) + " " + value;
}

bool changes_learning(const std::string& key) {
  return key.starts_with("schedule.") ||
         is_one_of(short_key(key),
                   {"learning_rate", "weight_decay", "momentum", "betas", "eps", "nesterov", "decay_norms",
                    "label_smoothing", "warmup_steps", "min_factor", "schedule", "alpha", "rslora"});
}

bool changes_work(const std::string& key) {
  const std::string name = short_key(key);
  if (changes_learning(key)) return false;
  if (is_one_of(name, {"image_size", "global_batch", "batch_per_rank", "max_length", "packing", "dataset", "model",
                       "method", "task", "machine", "device", "scaling", "width"}))
    return true;
  return key.starts_with("model.") || key.starts_with("method.") || key == "data.train";
}

std::string capitalised(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 32);
  return text;
}

std::string counted_pairs(long count, const std::string& of) {
  return counted(count, "pair") + " of " + of;
}

std::string counted_text(const std::string& number, const std::string& noun) {
  long count = 0;
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, count);
  return parsed.ec == std::errc() && parsed.ptr == end ? counted(count, noun) : number + " " + noun + "s";
}

}  // namespace multicard::post
