// The chat template of a model folder, and which of the known formats it renders.

#include <filesystem>

#include "io/Bytes.hpp"
#include "text/Jinja.hpp"
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

/// The special tokens that a chat template may write.
json special_tokens(const std::string& folder) {
  json tokens = {{"bos_token", ""}, {"eos_token", ""}};
  const std::optional<std::string> text = read_if_there(folder, "tokenizer_config.json");
  const json config = text ? parse_json(*text, folder + "/tokenizer_config.json") : json::object();
  for (auto& [name, token] : tokens.items()) {
    const json* value = optional_member(config, name.c_str());
    if (const json* content = value ? optional_member(*value, "content") : nullptr) value = content;
    if (value && value->is_string()) token = *value;
  }
  return tokens;
}

/// Conversations that tell the known formats from each other and from formats that are nearly theirs: with and without
/// system message and answer, contents with white space around them and without any, a later system message, and
/// answers with the reasoning that some models' templates cut away.
std::vector<std::vector<Message>> probes() {
  const Message system{"system", " You are\n terse.  "}, user{"user", "  What is <b>1 + 1</b>?\n"},
      assistant{"assistant", "\n It is two. "}, thanks{"user", "Thanks 'a' \"lot\" \u4e2d"}, bye{"assistant", "Bye"},
      later{"system", "Be verbose."}, no_system{"system", ""}, no_question{"user", ""}, no_answer{"assistant", ""},
      thought{"assistant", "<think>\nOne, two.\n</think>\n\nTwo."}, second{"assistant", "One.</think>Two."};
  return {{user},
          {system, user},
          {user, assistant},
          {system, user, assistant},
          {user, assistant, thanks},
          {system, user, assistant, thanks, bye},
          {no_question, assistant},
          {no_system, user, no_answer, no_question, bye},
          {user, assistant, later, thanks, bye},
          {system, user, later, assistant},
          {user, thought},
          {user, thought, thanks, second}};
}

bool renders_alike(const JinjaTemplate& chat_template, const json& specials, const PromptTemplate& known) {
  for (const std::vector<Message>& messages : probes())
    for (const Turn end : {Turn::open, Turn::closed}) {
      json variables = specials;
      variables["add_generation_prompt"] = end == Turn::open;
      for (const Message& message : messages)
        variables["messages"].push_back({{"role", message.role}, {"content", message.content}});
      std::string expected;
      for (const TextPiece& piece : known.conversation(messages, end))
        expected += piece.text;
      if (chat_template.render(variables) != expected) return false;
    }
  return true;
}

}  // namespace

std::optional<PromptTemplate> PromptTemplate::of_folder(const std::string& folder) {
  const std::optional<std::string> text = chat_template_of(folder);
  if (!text) return std::nullopt;
  const json specials = special_tokens(folder);
  try {
    const JinjaTemplate chat_template(*text);
    for (const PromptFormat& format : prompt_formats())
      if (const PromptTemplate known(format); !format.needs_eos && renders_alike(chat_template, specials, known))
        return known;
  } catch (const JinjaError&) {
    // It is none of those that this reader covers.
  }
  return std::nullopt;
}

bool PromptTemplate::has_chat_template(const std::string& folder) {
  return chat_template_of(folder).has_value();
}

}  // namespace multicard
