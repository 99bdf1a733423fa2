#pragma once
/// \file The files in tests/data/tokenizers.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "io/Bytes.hpp"
#include "support/test_world.hpp"
#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {

/// The file or folder of a name in the README there.
inline std::string token_data(const std::string& name) {
  return test::source_path("tests/data/" + (name == "tinystories" ? "models/tinystories-656K" : "tokenizers/" + name));
}

inline nlohmann::json read_oracle(const std::string& name) {
  return nlohmann::json::parse(read_file(token_data("oracles/" + name + ".json")));
}

/// The tokenizer.json of an entry of oracles/steps.json.
inline nlohmann::json whole_file(const nlohmann::json& oracle, const nlohmann::json& entry) {
  nlohmann::json file = entry["file"];
  file["model"] = oracle["models"][entry["model"].get<std::string>()];
  if (file.contains("fuse_unk")) file["model"]["fuse_unk"] = file["fuse_unk"];
  return file;
}

/// Loads a tokenizer file with this text.
inline std::shared_ptr<const Tokenizer> load_text(const std::string& text) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("multicard-tokenizer-" + std::to_string(getpid()));
  write_file(path.string(), text);
  struct Removal {
    const std::filesystem::path& path;
    ~Removal() { std::filesystem::remove(path); }
  } removal{path};
  return Tokenizer::load(path.string());
}

inline std::shared_ptr<const Tokenizer> load_json(const nlohmann::json& file) {
  return load_text(file.dump());
}

/// The ids of a word of ASCII letters by applying one merge after the other to the whole word.
inline std::vector<TokenId> merged_by_hand(const nlohmann::json& file, const std::string& word) {
  std::vector<std::string> parts;
  for (const char letter : word)
    parts.emplace_back(1, letter);
  for (const nlohmann::json& merge : file["model"]["merges"])
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      if (parts[i] == merge[0] && parts[i + 1] == merge[1]) {
        parts[i] += parts[i + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
  std::vector<TokenId> ids;
  for (const std::string& part : parts)
    ids.push_back(file["model"]["vocab"][part]);
  return ids;
}

}  // namespace multicard
