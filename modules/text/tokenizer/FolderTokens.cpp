// First and last tokens of texts, from the other files of a model folder.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "io/JsonReader.hpp"
#include "text/tokenizer/TokenConfig.hpp"
#include "text/tokenizer/TokenizerKeys.hpp"
#include "text/tokenizer/TokenizerParts.hpp"

namespace multicard {

namespace {

using nlohmann::json;

/// A token of a configuration: a text, or an object with its content; nothing where it is neither.
std::optional<std::string> content_of(const json* token) {
  const json* content = token ? optional_member(*token, "content") : nullptr;
  if (!content) content = token;
  return content && content->is_string() ? std::optional(content->get<std::string>()) : std::nullopt;
}

std::optional<TokenId> id_of_text(const TokenizerParts& parts, const json* token) {
  const std::optional<std::string> text = content_of(token);
  if (!text) return std::nullopt;
  if (const auto added = parts.added_by_text.find(*text); added != parts.added_by_text.end()) return added->second->id;
  return parts.texts.find(*text);
}

/// The ids in a number or a list of numbers; those of which there is no token are left out.
std::vector<TokenId> ids_of(const TokenizerParts& parts, const json* value) {
  std::vector<TokenId> ids;
  // Null and -1 are written where a model has no such token.
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

/// The first few of many, in quotation marks.
std::string few(const std::vector<std::string>& tokens) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min<std::size_t>(tokens.size(), 3); ++i)
    shown.push_back(json(tokens[i]).dump());
  return join(shown, ", ") + (tokens.size() > shown.size() ? fmt::format(" and {} more", tokens.size() - 3) : "");
}

/// transformers adds what tokenizer_config.json has and tokenizer.json has not.
void warn_of_missing_tokens(const TokenizerParts& parts, const json& config, const std::string& path) {
  if (parts.texts.end_id() == 0) return;  // of tiktoken, which has no list of tokens
  std::vector<std::string> missing, moved;
  const auto check = [&](const json* token, const std::string& id) {
    const std::optional<std::string> content = content_of(token);
    if (!content) return;
    const std::optional<TokenId> known = id_of_text(parts, token);
    if (!known && std::find(missing.begin(), missing.end(), *content) == missing.end()) missing.push_back(*content);
    if (known && !id.empty() && std::to_string(*known) != id) moved.push_back(*content);
  };
  if (const json* tokens = optional_member(config, "added_tokens_decoder"); tokens && tokens->is_object())
    for (const auto& [id, token] : tokens->items())
      check(&token, id);
  for (const char* list : {"additional_special_tokens", "extra_special_tokens"})
    if (const json* tokens = optional_member(config, list); tokens && tokens->is_structured())
      for (const json& token : *tokens)
        check(&token, "");
  for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"})
    check(optional_member(config, key), "");
  if (!missing.empty())
    log_warning(fmt::format("{} has the tokens {}, which tokenizer.json lacks: transformers would add them", path,
                            few(missing)));
  if (!moved.empty())
    log_warning(fmt::format("{}: added_tokens_decoder gives {} other ids than tokenizer.json, whose ids are used", path,
                            few(moved)));
}

/// Where one of these keys is there, transformers goes by both, and not by the post-processor.
void warn_of_around(const TokenizerParts& parts, const json& config, const std::string& path) {
  const auto flag = [&](const char* key) { return optional_member(config, key); };
  const json *adds_bos = flag("add_bos_token"), *adds_eos = flag("add_eos_token");
  if (!adds_bos && !adds_eos) return;
  const auto wanted = [](const json* adds, std::optional<TokenId> token) {
    return adds && *adds == true && token ? std::vector{*token} : std::vector<TokenId>();
  };
  if (parts.around.before != wanted(adds_bos, parts.bos) || parts.around.after != wanted(adds_eos, parts.eos))
    log_warning(
        fmt::format("{}: add_bos_token and add_eos_token ask for other tokens around a text than the "
                    "post-processor of tokenizer.json, which is used",
                    path));
}

void warn_of_config(const TokenizerParts& parts, const json& config, const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "tokenizer_config.json").string();
  warn_of(left_out_of_token_config(read_folder_json(folder, "tokenizer_config.json"), path));
  const std::string map = (std::filesystem::path(folder) / "special_tokens_map.json").string();
  warn_of(left_out_of_token_map(read_folder_json(folder, "special_tokens_map.json"), map));
  warn_of_missing_tokens(parts, config, path);
  warn_of_around(parts, config, path);
}

void add_end(TokenizerParts& parts, TokenId id) {
  if (std::find(parts.end_ids.begin(), parts.end_ids.end(), id) == parts.end_ids.end()) parts.end_ids.push_back(id);
}

}  // namespace

// tokenizer_config.json names tokens by their text, the two configurations of the model by id, where eos_token_id may
// be a list: Llama 3.1 gives three. The first that is named becomes the EOS of training; every one of them ends a
// generation. What the file's format implies (tiktoken with Llama 3's tokens) counts last, so that a folder may say
// otherwise.
void read_folder_tokens(TokenizerParts& parts, const std::string& folder) {
  const std::optional<TokenId> eos_of_format = std::exchange(parts.eos, std::nullopt);
  const json tokenizer = token_config(folder);
  parts.bos = id_of_text(parts, optional_member(tokenizer, "bos_token"));
  parts.eos = id_of_text(parts, optional_member(tokenizer, "eos_token"));
  warn_of_config(parts, tokenizer, folder);
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
