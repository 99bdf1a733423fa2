#include "state/AdapterConfig.hpp"

#include <cmath>
#include <cstdint>
#include <set>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/JsonText.hpp"
#include "io/JsonReader.hpp"
#include "state/AdapterKeys.hpp"

namespace multicard {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kPeftVersion = "0.21.2";  // whose layout this is
constexpr const char* kAllLinear = "all-linear";

/// Settings that leave out some of the targets; which, the tensors tell.
constexpr const char* kSelections[] = {"exclude_modules", "layers_pattern", "layers_to_transform"};

/// Initialisations that subtract the adapter's start from the base model, which is then another than the one named, and
/// those that do not.
const std::set<std::string> kChangesBase{"pissa", "olora", "corda", "loftq", "lora_ga"};
const std::set<std::string> kKeepsBase{"gaussian", "eva", "orthogonal", "mica"};

constexpr int kMostRank = 1 << 20;
constexpr double kMostAlpha = 1e12;

/// Reads one adapter_config.json.
class ConfigReader : JsonReader {
 public:
  /// \param ordered the same with the members in the order of the file
  ConfigReader(const json& config, const ordered_json& ordered, const std::string& origin)
      : JsonReader(config, origin), ordered_(ordered) {}

  AdapterConfig read() const {
    require_supported();
    AdapterConfig config;
    config.remarks = left_out(*this, adapter_format());
    config.settings.rank = static_cast<int>(number("r", 8, 1, kMostRank));
    config.settings.alpha = number("lora_alpha", 8, -kMostAlpha, kMostAlpha);
    config.settings.dropout = number("lora_dropout", 0, 0, 1);
    config.settings.rslora = truth("use_rslora", false);
    config.base_model = text("base_model_name_or_path");
    read_targets(config);
    config.settings.modules_to_save = names("modules_to_save");
    if (!config.settings.modules_to_save.empty() && truth("ensure_weight_tying", false))
      refuse("ensure_weight_tying", "modules_to_save that stay tied are not supported",
             "Train it without, or merge it with PEFT.");
    read_patterns("rank_pattern", 1, kMostRank, config.settings.patterns.rank);
    read_patterns("alpha_pattern", -kMostAlpha, kMostAlpha, config.settings.patterns.alpha);
    for (const char* key : kSelections)
      config.selects_layers = config.selects_layers || is_set(key);
    if (!is_integer("r")) refuse("r", "it is not a whole number");
    if (config.settings.dropout == 1) refuse("lora_dropout", "it is not below 1");
    return config;
  }

 private:
  bool is_set(const std::string& key) const {
    const json* value = find(key);
    if (value == nullptr) return false;
    return value->is_boolean() ? value->get<bool>() : !(value->is_structured() && value->empty());
  }

  bool is_integer(const std::string& key) const {
    const json* value = find(key);
    return value == nullptr || value->is_number_integer();
  }

  double number(const std::string& key, double fallback, double least, double most) const {
    const json* value = find(key);
    return value == nullptr ? fallback : number_of(key, *value, least, most);
  }

  template <class Json>
  double number_of(const std::string& key, const Json& value, double least, double most) const {
    if (!value.is_number()) refuse(key, "it is not a number");
    const auto given = value.template get<double>();
    if (!(given >= least && given <= most)) refuse(key, fmt::format("{} is impossible", value.dump()));
    return given;
  }

  template <class T>
  void read_patterns(const char* key, double least, double most, LayerPatterns<T>& patterns) const {
    const ordered_json* object = optional_member(ordered_, key);
    if (object == nullptr) return;
    if (!object->is_object()) refuse(key, "it is not an object of patterns");
    for (const auto& [pattern, value] : object->items()) {
      if (std::is_integral_v<T> && !value.is_number_integer())
        refuse(key, "it holds something that is not a whole number");
      patterns.emplace_back(pattern, static_cast<T>(number_of(key, value, least, most)));
    }
  }

  /// A list of texts, empty where there is none.
  std::vector<std::string> names(const char* key) const {
    std::vector<std::string> texts;
    const json* list = find(key);
    if (list == nullptr) return texts;
    if (!list->is_array()) refuse(key, "it is not a list");
    for (const json& name : *list) {
      if (!name.is_string() || name.get_ref<const std::string&>().empty())
        refuse(key, "it holds something that is not a name");
      texts.push_back(name.get<std::string>());
    }
    return texts;
  }

  std::string text(const std::string& key) const {
    const json* value = find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) refuse(key, "it is not text");
    return value->get<std::string>();
  }

  void require_supported() const {
    if (text("peft_type") != "LORA") refuse("peft_type", "only LORA is supported");
    if (const std::string bias = text("bias"); !bias.empty() && bias != "none")
      refuse("bias", "only \"none\" is supported");
    const json* start = find("init_lora_weights");
    if (start == nullptr || !start->is_string()) return;
    std::string name = start->get<std::string>();
    // "pissa_niter_4" is PiSSA by four iterations of a fast SVD.
    name = name.substr(0, name.find("_niter"));
    if (kChangesBase.contains(name))
      refuse("init_lora_weights", fmt::format("\"{}\" belongs to a changed base model", name));
    if (!kKeepsBase.contains(name)) refuse("init_lora_weights", fmt::format("\"{}\" is not known", name));
  }

  void read_targets(AdapterConfig& config) const {
    const json* targets = find("target_modules");
    if (targets == nullptr) {
      config.settings.targets = {"q_proj", "v_proj"};  // PEFT's choice for Llama, Mistral and Qwen2
    } else if (targets->is_string()) {
      config.settings.targets = {targets->get<std::string>()};
      config.target_kind = config.settings.targets[0] == kAllLinear ? TargetKind::names : TargetKind::pattern;
    } else {
      if (!targets->is_array()) refuse("target_modules", "it is neither a list nor a string");
      config.settings.targets.clear();
      for (const json& target : *targets) {
        if (!target.is_string()) refuse("target_modules", "it holds something that is not text");
        config.settings.targets.push_back(target.get<std::string>());
      }
    }
    if (config.settings.targets.empty() || config.settings.targets[0].empty())
      refuse("target_modules", "it names no layer");
  }

  const ordered_json& ordered_;
};

/// Whole numbers without ".0".
ordered_json number_json(double number) {
  // PEFT writes an alpha of 16 as 16: a file that is read and written again should not differ from the first.
  const bool is_whole = number == std::floor(number) && std::abs(number) < 1e15;
  return is_whole ? ordered_json(static_cast<std::int64_t>(number)) : ordered_json(number);
}

template <class T>
ordered_json object_of(const LayerPatterns<T>& patterns) {
  ordered_json object = ordered_json::object();
  for (const auto& [pattern, value] : patterns)
    object[pattern] = number_json(value);
  return object;
}

}  // namespace

AdapterConfig with_resolved_targets(AdapterConfig config, const std::vector<std::string>& layers) {
  // Several targets are always names; a single one may be a pattern.
  if (config.settings.targets.size() != 1) return config;
  const std::string target = config.settings.targets[0];
  std::set<std::string> last_parts;
  bool is_end = false;
  for (const std::string& layer : layers) {
    last_parts.insert(layer.substr(layer.rfind('.') + 1));
    is_end = is_end || layer == target || layer.ends_with("." + target);
  }
  if (target == kAllLinear)
    config.settings.targets.assign(last_parts.begin(), last_parts.end());
  else
    config.target_kind = is_end ? TargetKind::names : TargetKind::pattern;
  return config;
}

AdapterConfig parse_adapter_config(const std::string& text, const std::string& origin) {
  const std::string problem = fmt::format("{} is not a PEFT configuration", origin);
  // Parsed twice: nlohmann::json sorts the members of an object, and of patterns the first in the file decides.
  const json config = parse_json_object<json>(text, problem);
  const auto ordered = parse_json_object<ordered_json>(text, problem);
  return ConfigReader(config, ordered, origin).read();
}

std::string adapter_config_json(const AdapterConfig& config) {
  const bool is_one_text = config.target_kind == TargetKind::pattern || config.settings.targets.at(0) == kAllLinear;
  const ordered_json targets =
      is_one_text ? ordered_json(config.settings.targets.at(0)) : ordered_json(config.settings.targets);
  const ordered_json none;
  const ordered_json saved =
      config.settings.modules_to_save.empty() ? none : ordered_json(config.settings.modules_to_save);
  // init_lora_weights says how PEFT would start; with both matrices in the file nothing is left to start.
  const ordered_json content = {
      {"alpha_pattern", object_of(config.settings.patterns.alpha)},
      {"auto_mapping", none},
      {"base_model_name_or_path", config.base_model.empty() ? none : ordered_json(config.base_model)},
      {"bias", "none"},
      {"fan_in_fan_out", false},
      {"inference_mode", true},
      {"init_lora_weights", true},
      {"layers_pattern", none},
      {"layers_to_transform", none},
      {"lora_alpha", number_json(config.settings.alpha)},
      {"lora_dropout", config.settings.dropout},
      {"modules_to_save", saved},
      {"peft_type", "LORA"},
      {"peft_version", kPeftVersion},
      {"r", config.settings.rank},
      {"rank_pattern", object_of(config.settings.patterns.rank)},
      {"revision", none},
      {"target_modules", targets},
      {"task_type", "CAUSAL_LM"},
      {"use_dora", false},
      {"use_rslora", config.settings.rslora}};
  return json_text(content, 2);
}

}  // namespace multicard
