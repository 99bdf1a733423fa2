#include "state/PeftAdapter.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "state/TensorProblems.hpp"

namespace multicard {

namespace fs = std::filesystem;
using json = nlohmann::json;

namespace {

const std::string kPrefix = "base_model.model.";
const std::string kWeight = ".weight";
const std::string kSuffixA = ".lora_A.weight", kSuffixB = ".lora_B.weight";

bool is_float(const SafetensorsEntry& entry) {
  const auto type = scalar_type_of(entry.dtype);
  return type && at::isFloatingType(*type);
}

std::string require_file(const std::string& folder, const std::string& name) {
  const fs::path path = fs::path(folder) / name;
  std::error_code error;
  if (fs::exists(path, error)) return path.string();
  if (!fs::is_directory(folder, error))
    throw DataError(fmt::format("the adapter folder {} {}", folder,
                                fs::exists(folder, error) ? "is not a folder" : "does not exist"),
                    "", "Check model.adapter or --adapter.");
  const bool has_pickle = fs::exists(fs::path(folder) / "adapter_model.bin", error);
  throw DataError(fmt::format("{} is not a PEFT adapter: it has no {}", folder, name),
                  has_pickle ? "it has adapter_model.bin, which can run code when it is read" : "",
                  has_pickle ? "Convert it to safetensors." : "");
}

/// The weight of a module that is stored whole, by its name in the base model; none for other tensors.
std::optional<std::string> saved_weight_of(const std::string& name, const std::vector<std::string>& modules_to_save) {
  // "base_model.model." is PEFT's wrapper around the base model; what follows is the name there.
  if (!name.starts_with(kPrefix) || !name.ends_with(kWeight)) return std::nullopt;
  std::string weight = name.substr(kPrefix.size());
  const bool is_saved = is_module_to_save(weight.substr(0, weight.size() - kWeight.size()), modules_to_save);
  return is_saved ? std::optional(std::move(weight)) : std::nullopt;
}

std::string layer_of(const std::string& name, const std::string& origin) {
  // Every tensor must be known: one that is passed over would be a part of the adapter that is missing in the model.
  const bool is_lora = name.ends_with(kSuffixA) || name.ends_with(kSuffixB);
  for (const char* outside : {"lm_head", "embed_tokens"})
    if (!is_lora && name.find(outside) != std::string::npos)
      throw DataError(fmt::format("{} adapts {}", origin, outside), fmt::format("it holds the tensor {}", name),
                      "Only adapters of the linear layers of blocks, and modules_to_save, are supported.");
  if (!is_lora || !name.starts_with(kPrefix))
    throw DataError(fmt::format("{} holds the tensor {}", origin, name),
                    "it is neither lora_A nor lora_B of a linear layer");
  return name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffixA.size());
}

/// \param names of tensors
std::vector<std::string> layers_in(const std::vector<std::string>& names,
                                   const std::vector<std::string>& modules_to_save, const std::string& origin) {
  std::set<std::string> layers;
  for (const std::string& name : names)
    if (!saved_weight_of(name, modules_to_save)) layers.insert(layer_of(name, origin));
  return {layers.begin(), layers.end()};
}

std::vector<std::string> names_in(const SafetensorsFile& file) {
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : file.entries())
    names.push_back(entry.name);
  return names;
}

/// Which of its ranks a layer has depends on the names of the base model's layers: code that knows them compares.
bool is_rank_of(std::int64_t rank, const AdapterConfig& config) {
  const auto& patterns = config.settings.patterns.rank;
  return rank == config.settings.rank ||
         std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) { return pattern.second == rank; });
}

void require_pair(const SafetensorsFile& file, const std::string& layer, const AdapterConfig& config) {
  const auto refuse = [&](const std::string& why) {
    throw DataError(fmt::format("{}: the adapter of {} cannot be used", file.path(), layer), why);
  };
  const SafetensorsEntry* a = file.find(PeftAdapter::a_name(layer));
  const SafetensorsEntry* b = file.find(PeftAdapter::b_name(layer));
  if (a == nullptr || b == nullptr) refuse(a == nullptr ? "it has no lora_A" : "it has no lora_B");
  if (!is_float(*a) || !is_float(*b)) refuse("its numbers are not floating-point");
  const bool are_matrices = a->shape.size() == 2 && b->shape.size() == 2;
  if (!are_matrices || a->shape[0] != b->shape[1] || !is_rank_of(a->shape[0], config))
    refuse(fmt::format("lora_A {} and lora_B {} are not of rank {}{}", shape_text(a->shape), shape_text(b->shape),
                       config.settings.rank, config.settings.patterns.rank.empty() ? "" : " or one of rank_pattern"));
}

/// Where ".NAME" stands in "...lora_A.NAME.weight" or "...modules_to_save.NAME.weight", as a state_dict has the name of
/// its adapter, and PEFT's own files have not; nothing in other names.
std::optional<std::pair<std::size_t, std::size_t>> place_of_adapter_name(const std::string& tensor) {
  if (!tensor.ends_with(kWeight)) return std::nullopt;
  const std::size_t end = tensor.size() - kWeight.size();
  for (const std::string_view part : {".lora_A.", ".lora_B.", ".modules_to_save."}) {
    const std::size_t at = tensor.rfind(part);
    if (at == std::string::npos) continue;
    const std::size_t name = at + part.size();
    if (name < end && tensor.find('.', name) == end) return std::pair(name - 1, end);
  }
  return std::nullopt;
}

/// Takes the adapter's name out of the names of its tensors. \throws DataError where there are several adapters
void take_out_adapter_name(TensorFile& file) {
  std::set<std::string> adapters;
  for (const SafetensorsEntry& entry : file.file().entries())
    if (const auto place = place_of_adapter_name(entry.name))
      adapters.insert(entry.name.substr(place->first + 1, place->second - place->first - 1));
  if (adapters.empty()) return;
  if (adapters.size() > 1)
    throw DataError(fmt::format("{} holds {} adapters", file.path(), adapters.size()),
                    join({adapters.begin(), adapters.end()}, ", "), "Save one of them alone.");
  file.rename([](const std::string& name) {
    const auto place = place_of_adapter_name(name);
    if (!place) return name;
    const std::string saved = ".modules_to_save";
    const std::string before = name.substr(0, place->first);
    return (before.ends_with(saved) ? before.substr(0, before.size() - saved.size()) : before) +
           name.substr(place->second);
  });
}

/// The number of the block that a layer stands in: 0 of model.layers.0.self_attn.q_proj.
std::optional<int> block_of(const std::string& layer) {
  std::smatch number;
  static const std::regex pattern(R"(\.(\d+)\.)");
  return std::regex_search(layer, number, pattern) ? std::optional(std::stoi(number[1])) : std::nullopt;
}

/// Whether `exclude_modules`, a list of names or a pattern, means the layer.
bool is_excluded(const json& excluded, const std::string& layer, const std::string& path) {
  // PEFT's expressions are Python's; ECMAScript's are close enough for names of layers, and where they differ this only
  // fails to find a contradiction.
  if (excluded.is_string()) try {
      return std::regex_match(layer, std::regex(excluded.get<std::string>()));
    } catch (const std::regex_error& error) {
      throw DataError(fmt::format("{}: exclude_modules cannot be used", path), error.what(),
                      "List the layers instead.");
    }
  return std::any_of(excluded.begin(), excluded.end(), [&](const json& name) {
    return name.is_string() && (layer == name || layer.ends_with("." + name.get<std::string>()));
  });
}

/// Tensors of layers that the settings leave out are silently not read by PEFT: the folder contradicts itself.
void require_selected(const std::vector<std::string>& layers, const json& config, const std::string& path) {
  const json excluded = config.value("exclude_modules", json()), blocks = config.value("layers_to_transform", json());
  const json listed = blocks.is_number_integer() ? json::array({blocks}) : blocks;
  const auto refuse = [&](const std::string& layer, const char* key) {
    throw DataError(fmt::format("{}: {} leaves out {}", path, key, layer), "the folder has an adapter of it",
                    "Correct the setting, or take its tensors out.");
  };
  for (const std::string& layer : layers) {
    if (is_excluded(excluded, layer, path)) refuse(layer, "exclude_modules");
    const std::optional<int> block = block_of(layer);
    if (listed.is_array() && !listed.empty() && block &&
        std::find(listed.begin(), listed.end(), *block) == listed.end())
      refuse(layer, "layers_to_transform");
  }
}

}  // namespace

PeftAdapter::PeftAdapter(std::string folder, AdapterConfig config, const std::string& file)
    : folder_(std::move(folder)), config_(std::move(config)), file_(require_file(folder_, file)) {
  take_out_adapter_name(file_);
}

PeftAdapter PeftAdapter::open(const std::string& folder, const std::string& file) {
  // The configuration first: it says what the names of the tensors mean, those of modules_to_save among them.
  const std::string path = require_file(folder, kAdapterConfigFile);
  PeftAdapter adapter(folder, parse_adapter_config(read_file(path), path), file);
  const std::vector<std::string> layers = adapter.layers();
  if (layers.empty()) throw DataError(fmt::format("{} holds no adapter", adapter.file_.path()));
  for (const std::string& layer : layers)
    require_pair(adapter.file_.file(), layer, adapter.config_);
  for (const std::string& weight : adapter.saved_weights())
    if (!is_float(*adapter.file_.file().find(saved_name(weight))))
      throw DataError(fmt::format("{}: {} cannot be used", adapter.file_.path(), saved_name(weight)),
                      "its numbers are not floating-point");
  // The tensors say which layers are meant, whatever settings have chosen them; the settings must only not deny it.
  if (adapter.config_.selects_layers) {
    require_selected(layers, parse_json(read_file(path), path), path);
    adapter.config_.settings.targets = layers;
    adapter.config_.target_kind = TargetKind::names;
  }
  return adapter;
}

std::vector<std::string> PeftAdapter::layers() const {
  return layers_in(names_in(file_.file()), config_.settings.modules_to_save, file_.path());
}

std::vector<std::string> PeftAdapter::saved_weights() const {
  std::vector<std::string> weights;
  for (const std::string& name : names_in(file_.file()))
    if (auto weight = saved_weight_of(name, config_.settings.modules_to_save)) weights.push_back(std::move(*weight));
  std::sort(weights.begin(), weights.end());
  return weights;
}

std::string PeftAdapter::a_name(const std::string& layer) {
  return kPrefix + layer + kSuffixA;
}

std::string PeftAdapter::b_name(const std::string& layer) {
  return kPrefix + layer + kSuffixB;
}

std::string PeftAdapter::saved_name(const std::string& weight) {
  return kPrefix + weight;
}

std::vector<std::string> adapted_layers_of(const NamedTensors& tensors, const std::vector<std::string>& modules_to_save,
                                           const std::string& origin) {
  std::vector<std::string> names;
  for (const NamedTensor& entry : tensors)
    names.push_back(entry.name);
  return layers_in(names, modules_to_save, origin);
}

void write_adapter(const std::string& folder, const AdapterConfig& config, const NamedTensors& tensors,
                   const SafetensorsMetadata& metadata) {
  const AdapterConfig written =
      with_resolved_targets(config, adapted_layers_of(tensors, config.settings.modules_to_save, folder));
  save_tensors((fs::path(folder) / kAdapterFile).string(), tensors, metadata);
  write_file((fs::path(folder) / kAdapterConfigFile).string(), adapter_config_json(written));
}

}  // namespace multicard
