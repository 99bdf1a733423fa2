// What the files beside a tokenizer say about its first and last tokens.

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/JsonReader.hpp"
#include "text/TokenConfig.hpp"
#include "text/TokenizerParts.hpp"

namespace multicard {

namespace {

using nlohmann::json;

std::optional<TokenId> id_of_text(const TokenizerParts& parts, const json* token) {
  const json* content = token ? optional_member(*token, "content") : nullptr;
  if (!content) content = token;
  if (!content || !content->is_string()) return std::nullopt;
  const auto& text = content->get_ref<const std::string&>();
  if (const auto added = parts.added_by_text.find(text); added != parts.added_by_text.end()) return added->second->id;
  return parts.texts.find(text);
}

/// The ids in a number or a list of numbers; those of which there is no token are left out.
std::vector<TokenId> ids_of(const TokenizerParts& parts, const json* value) {
  std::vector<TokenId> ids;
  const auto add = [&](const json& id) {
    if (id.is_number_unsigned() && id.get<std::uint64_t>() < parts.end_id) ids.push_back(id.get<TokenId>());
  };
  if (value && value->is_array()) {
    for (const json& id : *value)
      add(id);
  } else if (value) {
    add(*value);
  }
  return ids;
}

void add_end(TokenizerParts& parts, TokenId id) {
  if (std::find(parts.end_ids.begin(), parts.end_ids.end(), id) == parts.end_ids.end()) parts.end_ids.push_back(id);
}

}  // namespace

void read_folder_tokens(TokenizerParts& parts, const std::string& folder) {
  const std::optional<TokenId> eos_of_format = std::exchange(parts.eos, std::nullopt);
  const json tokenizer = token_config(folder);
  parts.bos = id_of_text(parts, optional_member(tokenizer, "bos_token"));
  parts.eos = id_of_text(parts, optional_member(tokenizer, "eos_token"));
  if (parts.eos) add_end(parts, *parts.eos);
  for (const char* name : {"config.json", "generation_config.json"}) {
    const json config = read_folder_json(folder, name);
    const std::vector<TokenId> bos = ids_of(parts, optional_member(config, "bos_token_id"));
    const std::vector<TokenId> eos = ids_of(parts, optional_member(config, "eos_token_id"));
    if (!parts.bos && !bos.empty()) parts.bos = bos.front();
    if (!parts.eos && !eos.empty()) parts.eos = eos.front();
    for (const TokenId id : eos)
      add_end(parts, id);
  }
  if (!parts.bos && !parts.around.before.empty()) parts.bos = parts.around.before.front();
  if (!parts.eos) parts.eos = eos_of_format;
  if (parts.eos) add_end(parts, *parts.eos);
}

}  // namespace multicard
