#include "postproc/Labels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/Text.hpp"

namespace multicard::post {

namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string short_key(const std::string& key) {
  const std::vector<std::string> parts = split(key, '.');
  if (parts.size() > 1 && parts.back() == "name") return parts[parts.size() - 2];
  return parts.back();
}

std::string key_label(const std::string& key) {
  std::string label = short_key(key);
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

std::string setting_label(const std::string& key, const std::string& value) {
  const std::string name = short_key(key);
  if (value.empty()) return "no " + key_label(key);
  if (name == "image_size") return value + " px";
  if (name == "global_batch") return "batch " + value;
  if (name == "batch_per_rank") return "batch " + value + " a rank";
  if (name == "pin_memory") return value == "true" || value == "1" ? "pinned" : "not pinned";
  if (name == "pipeline") return value + " pipeline";
  if (is_one_of(name, {"strategy", "precision", "layout", "case", "model", "method", "dataset", "task", "machine"}))
    return value;
  return key_label(key) + " " + value;
}

bool changes_work(const std::string& key) {
  const std::string name = short_key(key);
  if (is_one_of(name, {"image_size", "global_batch", "batch_per_rank", "max_length", "packing", "dataset", "model",
                       "method", "task", "machine"}))
    return true;
  return key.starts_with("model.") || key.starts_with("method.") || key == "data.train";
}

std::string counted(long count, const std::string& noun) {
  return grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string percent(double share, int digits) {
  if (!std::isfinite(share)) return "–";
  const double value = 100 * share;
  if (value != 0 && std::abs(value) < 0.1) return "< 0.1 %";
  return significant(value, std::abs(value) < 1 ? std::min(digits, 1) : digits) + " %";
}

}  // namespace multicard::post
