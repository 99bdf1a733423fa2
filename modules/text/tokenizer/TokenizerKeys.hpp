#pragma once
/// \file What is known of the keys of tokenizer.json and of the folder's other files, as transformers 5.23 and
/// tokenizers 0.23 read them.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "io/ForeignFormat.hpp"

namespace multicard {

/// As `multicard help formats` and docs/models.md show them: "tokenizer", "tokenizer-model", "tokenizer-step",
/// "added-token", "tokenizer-config" and "special-tokens-map".
std::vector<ForeignFormat> tokenizer_formats();

/// What of a tokenizer.json is left out, in sentences. \throws DataError for what would change ids
std::vector<std::string> left_out_of_tokenizer(const nlohmann::json& file, const std::string& path);
/// The same of the objects in tokenizer_config.json and special_tokens_map.json.
std::vector<std::string> left_out_of_token_config(const nlohmann::json& config, const std::string& path);
std::vector<std::string> left_out_of_token_map(const nlohmann::json& map, const std::string& path);

}  // namespace multicard
