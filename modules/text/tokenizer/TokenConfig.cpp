#include "text/tokenizer/TokenConfig.hpp"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"

namespace multicard {

using nlohmann::json;

json read_folder_json(const std::string& folder, const char* name) {
  const std::string path = (std::filesystem::path(folder) / name).string();
  std::error_code unused;
  return std::filesystem::exists(path, unused) ? parse_json(read_file(path), path) : json::object();
}

json token_config(const std::string& folder) {
  json config = read_folder_json(folder, "tokenizer_config.json");
  if (!config.is_object() || optional_member(config, "added_tokens_decoder")) return config;
  const json map = read_folder_json(folder, "special_tokens_map.json");
  if (map.is_object()) config.update(map);
  return config;
}

}  // namespace multicard
