#include "state/PeftAdapter.hpp"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "state/TensorProblems.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

const std::string kPrefix = "base_model.model.";
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

std::string layer_of(const std::string& name, const std::string& origin) {
  const bool is_lora = name.ends_with(kSuffixA) || name.ends_with(kSuffixB);
  for (const char* outside : {"lm_head", "embed_tokens"})
    if (!is_lora && name.find(outside) != std::string::npos)
      throw DataError(fmt::format("{} adapts {}", origin, outside), fmt::format("it holds the tensor {}", name),
                      "Only adapters of the linear layers of blocks are supported.");
  if (!is_lora || !name.starts_with(kPrefix))
    throw DataError(fmt::format("{} holds the tensor {}", origin, name),
                    "it is neither lora_A nor lora_B of a linear layer");
  return name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffixA.size());
}

void require_pair(const SafetensorsFile& file, const std::string& layer, int rank) {
  const auto refuse = [&](const std::string& why) {
    throw DataError(fmt::format("{}: the adapter of {} cannot be used", file.path(), layer), why);
  };
  const SafetensorsEntry* a = file.find(PeftAdapter::a_name(layer));
  const SafetensorsEntry* b = file.find(PeftAdapter::b_name(layer));
  if (a == nullptr || b == nullptr) refuse(a == nullptr ? "it has no lora_A" : "it has no lora_B");
  if (!is_float(*a) || !is_float(*b)) refuse("its numbers are not floating-point");
  if (a->shape.size() != 2 || b->shape.size() != 2 || a->shape[0] != rank || b->shape[1] != rank)
    refuse(fmt::format("lora_A {} and lora_B {} are not of rank {}", shape_text(a->shape), shape_text(b->shape), rank));
}

}  // namespace

PeftAdapter::PeftAdapter(std::string folder, AdapterConfig config, const std::string& file)
    : folder_(std::move(folder)), config_(std::move(config)), file_(require_file(folder_, file)) {}

PeftAdapter PeftAdapter::open(const std::string& folder, const std::string& file) {
  const std::string path = require_file(folder, kAdapterConfigFile);
  PeftAdapter adapter(folder, parse_adapter_config(read_file(path), path), file);
  const std::vector<std::string> layers = adapter.layers();
  if (layers.empty()) throw DataError(fmt::format("{} holds no adapter", adapter.file_.path()));
  for (const std::string& layer : layers)
    require_pair(adapter.file_.file(), layer, adapter.config_.rank);
  if (adapter.config_.selects_layers) {
    adapter.config_.targets = layers;
    adapter.config_.target_kind = TargetKind::names;
  }
  return adapter;
}

std::vector<std::string> PeftAdapter::layers() const {
  std::set<std::string> layers;
  for (const SafetensorsEntry& entry : file_.file().entries())
    layers.insert(layer_of(entry.name, file_.path()));
  return {layers.begin(), layers.end()};
}

std::string PeftAdapter::a_name(const std::string& layer) {
  return kPrefix + layer + kSuffixA;
}

std::string PeftAdapter::b_name(const std::string& layer) {
  return kPrefix + layer + kSuffixB;
}

std::vector<std::string> adapted_layers_of(const NamedTensors& tensors, const std::string& origin) {
  std::set<std::string> layers;
  for (const NamedTensor& entry : tensors)
    layers.insert(layer_of(entry.name, origin));
  return {layers.begin(), layers.end()};
}

void write_adapter(const std::string& folder, const AdapterConfig& config, const NamedTensors& tensors,
                   const SafetensorsMetadata& metadata) {
  const AdapterConfig written = with_resolved_targets(config, adapted_layers_of(tensors, folder));
  save_tensors((fs::path(folder) / kAdapterFile).string(), tensors, metadata);
  write_file((fs::path(folder) / kAdapterConfigFile).string(), adapter_config_json(written));
}

}  // namespace multicard
