#include "state/ShardedWriter.hpp"

#include <filesystem>
#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/JsonText.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

constexpr const char* kConfigFile = "config.json";

using Shards = std::vector<std::vector<TensorHeader>>;

/// Fills one shard after the other; a tensor larger than a shard has one of its own.
Shards split_into_shards(const std::vector<TensorHeader>& tensors, std::uint64_t max_shard_bytes) {
  Shards shards(1);
  std::uint64_t bytes = 0;
  for (const TensorHeader& tensor : tensors) {
    // In the order given, never sorted by size: neighbours in the model stay in one file, as transformers writes it.
    if (!shards.back().empty() && bytes + tensor.num_bytes() > max_shard_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += tensor.num_bytes();
    shards.back().push_back(tensor);
  }
  return shards;
}

void write_shard(const std::string& path, const std::vector<TensorHeader>& tensors,
                 const std::function<at::Tensor(const std::string&)>& tensor_of, const SafetensorsMetadata& metadata) {
  SafetensorsWriter writer(path, tensors, metadata);
  for (const TensorHeader& header : writer.tensors()) {
    // One tensor in memory at a time, in the order that the writer wants them, which is not that of the shard.
    const at::Tensor tensor = tensor_of(header.name).detach().to(at::kCPU).contiguous();
    if (tensor.sizes() != at::IntArrayRef(header.shape) || safetensors_dtype(tensor.scalar_type()) != header.dtype)
      throw std::logic_error(fmt::format("the tensor {} is not what was announced", header.name));
    writer.write({static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  writer.commit();
}

const char* config_dtype(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    default:
      return "float32";
  }
}

/// Of named chat templates, as transformers writes them.
const std::string kMoreTemplates = "additional_chat_templates";

}  // namespace

void write_weights(const std::string& folder, const std::vector<TensorHeader>& tensors,
                   const std::function<at::Tensor(const std::string&)>& tensor_of, std::uint64_t max_shard_bytes,
                   const SafetensorsMetadata& metadata) {
  const Shards shards = split_into_shards(tensors, max_shard_bytes);
  std::uint64_t total = 0;
  nlohmann::json weight_map = nlohmann::json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shards.size() == 1 ? "model.safetensors"
                                                : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    write_shard((fs::path(folder) / name).string(), shards[i], tensor_of, metadata);
    for (const TensorHeader& tensor : shards[i]) {
      weight_map[tensor.name] = name;
      total += tensor.num_bytes();
    }
  }
  // One file alone has no index: programs look for model.safetensors first.
  if (shards.size() == 1) return;
  const nlohmann::json index = {{"metadata", {{"total_size", total}}}, {"weight_map", weight_map}};
  write_file((fs::path(folder) / "model.safetensors.index.json").string(), json_text(index, 2) + "\n");
}

std::vector<std::string> names_of_non_tensor_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const char* name : {kConfigFile, "generation_config.json", "tokenizer.json", "tokenizer_config.json",
                           "special_tokens_map.json", "tokenizer.model", "added_tokens.json", "vocab.json",
                           "merges.txt", "chat_template.jinja", "chat_template.json"})
    if (fs::is_regular_file(fs::path(folder) / name)) names.emplace_back(name);
  std::error_code none;
  for (fs::directory_iterator entry(fs::path(folder) / kMoreTemplates, none), end; !none && entry != end;
       entry.increment(none))
    if (entry->path().extension() == ".jinja" && entry->is_regular_file())
      names.push_back(kMoreTemplates + ("/" + entry->path().filename().string()));
  return names;
}

void copy_model_files(const std::string& from, const std::string& to, const ConfigChanges& changes) {
  const std::string path = (fs::path(from) / kConfigFile).string();
  auto config = parse_json_object<nlohmann::ordered_json>(read_file(path),
                                                          fmt::format("{} is not a model's configuration", path));
  // transformers renamed torch_dtype to dtype; readers of both ages must find the type of the weights that are written.
  const bool has_new_key = config.contains("dtype");
  if (has_new_key) config["dtype"] = config_dtype(changes.dtype);
  if (!has_new_key || config.contains("torch_dtype")) config["torch_dtype"] = config_dtype(changes.dtype);
  if (!changes.quantisation.empty())
    config["quantization_config"] = nlohmann::ordered_json::parse(changes.quantisation);
  if (changes.unties) config["tie_word_embeddings"] = false;
  write_file((fs::path(to) / kConfigFile).string(), json_text(config, 2) + "\n");
  for (const std::string& name : names_of_non_tensor_files(from)) {
    fs::create_directories((fs::path(to) / name).parent_path());
    if (name != kConfigFile) write_file((fs::path(to) / name).string(), read_file((fs::path(from) / name).string()));
  }
}

}  // namespace multicard
