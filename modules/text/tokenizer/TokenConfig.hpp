#pragma once
/// \file What the files of a folder say about its special tokens.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace multicard {

/// A file of the folder; an empty object where it has none of that name. \throws DataError
nlohmann::json read_folder_json(const std::string& folder, const char* name);

/// tokenizer_config.json, as transformers reads it: where it has no `added_tokens_decoder` (transformers before 4.34),
/// the members of special_tokens_map.json replace its own. An empty object where there is neither. \throws DataError
nlohmann::json token_config(const std::string& folder);

}  // namespace multicard
