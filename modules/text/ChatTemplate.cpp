// The chat template of a model folder, and which of the known formats it renders.

#include <filesystem>

#include "io/Bytes.hpp"
#include "text/Json.hpp"
#include "text/PromptFormat.hpp"
#include "text/PromptTemplate.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::optional<std::string> read_if_there(const std::string& folder, const char* name) {
  const fs::path path = fs::path(folder) / name;
  std::error_code unused;
  return fs::exists(path, unused) ? std::optional(read_file(path.string())) : std::nullopt;
}

/// A text, or the one called "default" in a list of named ones.
std::optional<std::string> template_in(const json& config) {
  const json* value = optional_member(config, "chat_template");
  if (!value) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  if (value->is_array())
    for (const json& entry : *value)
      if (const json* name = optional_member(entry, "name"); name && *name == "default")
        return text_member(entry, "template", "the default chat template");
  return "";  // there are some, but none that would be used
}

std::optional<std::string> chat_template_of(const std::string& folder) {
  if (std::optional<std::string> text = read_if_there(folder, "chat_template.jinja")) return text;
  for (const char* name : {"tokenizer_config.json", "chat_template.json"})
    if (const std::optional<std::string> text = read_if_there(folder, name))
      if (std::optional<std::string> found = template_in(parse_json(*text, (fs::path(folder) / name).string())))
        return found;
  return std::nullopt;
}

}  // namespace

std::optional<PromptTemplate> PromptTemplate::of_folder(const std::string& folder) {
  const std::optional<std::string> text = chat_template_of(folder);
  const PromptFormat* format = text ? format_of_chat_template(*text) : nullptr;
  return format ? std::optional(PromptTemplate(*format)) : std::nullopt;
}

bool PromptTemplate::has_chat_template(const std::string& folder) {
  return chat_template_of(folder).has_value();
}

}  // namespace multicard
