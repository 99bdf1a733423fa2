#include "text/prompts/ChatTemplateFiles.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "text/tokenizer/TokenConfig.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::optional<std::string> read_if_there(const std::string& folder, const char* name) {
  const fs::path path = fs::path(folder) / name;
  std::error_code unused;
  return fs::exists(path, unused) ? std::optional(read_file(path.string())) : std::nullopt;
}

/// A text, or those called "default" and "tool_use" in a list of named ones.
std::optional<ChatTemplateSources> sources_in(const json& config, const std::string& path) {
  const json* value = optional_member(config, "chat_template");
  if (!value) return std::nullopt;
  if (value->is_string()) return ChatTemplateSources{value->get<std::string>()};
  std::optional<std::string> chat, with_tools;
  if (value->is_array())
    for (const json& entry : *value) {
      const json* name = optional_member(entry, "name");
      if (name && *name == "default") chat = text_member(entry, "template", "the default chat template");
      if (name && *name == "tool_use") with_tools = text_member(entry, "template", "the chat template for tools");
    }
  if (!chat)
    throw DataError(fmt::format("{} has chat templates, but none is the default one", path), "",
                    "Name a template: --template NAME.");
  return ChatTemplateSources{*chat, with_tools};
}

/// Of chat_template.jinja, else of the configuration.
std::optional<ChatTemplateSources> main_sources(const std::string& folder) {
  if (std::optional<std::string> text = read_if_there(folder, "chat_template.jinja")) return ChatTemplateSources{*text};
  // chat_template.json belongs to the processors of models with images.
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    const std::string path = (fs::path(folder) / name).string();
    if (const std::optional<std::string> text = read_if_there(folder, name))
      if (std::optional<ChatTemplateSources> found = sources_in(parse_json(*text, path), path)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ChatTemplateSources> chat_template_sources(const std::string& folder) {
  std::optional<ChatTemplateSources> sources = main_sources(folder);
  if (auto with_tools = read_if_there(folder, "additional_chat_templates/tool_use.jinja"); sources && with_tools)
    sources->with_tools = std::move(with_tools);
  return sources;
}

// A token is a text or an object {"__type": "AddedToken", "content": ...}. One that is null stays undefined, as in
// transformers: templates write it as nothing and may ask whether it is there.
TemplateSpecials template_specials(const std::string& folder) {
  TemplateSpecials tokens;
  const json config = token_config(folder);
  for (const char* name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const json* value = optional_member(config, name);
    if (const json* content = value ? optional_member(*value, "content") : nullptr) value = content;
    if (value && value->is_string()) tokens.emplace_back(name, value->get<std::string>());
  }
  return tokens;
}

}  // namespace multicard
