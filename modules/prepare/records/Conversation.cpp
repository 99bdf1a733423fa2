#include "prepare/records/Conversation.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Shown.hpp"
#include "base/Text.hpp"
#include "io/JsonReader.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;

constexpr std::array kWeights{"weight", "loss_weight", "train", "loss", "training"};

/// ShareGPT's names, and those that mean the same.
std::string role_of(const std::string& name) {
  constexpr std::array<std::pair<const char*, const char*>, 6> kSame{{{"human", "user"},
                                                                      {"gpt", "assistant"},
                                                                      {"model", "assistant"},
                                                                      {"developer", "system"},
                                                                      {"observation", "tool"},
                                                                      {"ipython", "tool"}}};
  for (const auto& [other, role] : kSame)
    if (name == other) return role;
  return name;
}

std::string content_of(const json& value, const std::string& what) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) throw DataError(fmt::format("the content of a message of {} is not a string", what));
  std::string content;
  for (const json& part : value) {
    if (type_of(part, fmt::format("a part of a message of {}", what)) != "text")
      throw DataError(fmt::format("a message of {} holds a part of type {}", what, type_of(part, what)),
                      "only text can be rendered");
    content += text_member(part, optional_member(part, "text") ? "text" : "value", what);
  }
  return content;
}

void refuse_functions(const json& object, const std::string& what) {
  for (const char* key : {"functions", "function_call"})
    if (is_given(optional_member(object, key)))
      throw DataError(fmt::format("{} has \"{}\", which cannot be rendered", what, key), "",
                      "Write it as \"tools\" or \"tool_calls\".");
}

// Weights other than 0 and 1 would mean a weighted loss, which shards cannot hold: a mask says yes or no of a token.
bool is_weighted(const json& message, const std::string& what) {
  std::optional<bool> is_trained;
  for (const char* key : kWeights) {
    const json* weight = optional_member(message, key);
    if (!weight) continue;
    const bool is_flag = weight->is_boolean();
    const bool is_one = is_flag ? weight->get<bool>() : *weight == 1;
    if (!is_flag && !is_one && *weight != 0)
      throw DataError(fmt::format("\"{}\" of a message of {} is {}", key, what, weight->dump()),
                      "an answer is trained on (1, true) or not (0, false)");
    if (is_trained.value_or(is_one) != is_one)
      throw DataError(fmt::format("the weights of a message of {} contradict each other", what));
    is_trained = is_one;
  }
  return is_trained.value_or(true);
}

/// The members of a message that are not read here, as JSON; nothing if there are none.
std::string further_fields(const json& message, const char* role, const char* content) {
  json fields = json::object();
  for (const auto& [key, value] : message.items()) {
    const bool is_read = key == role || key == content || value.is_null() ||
                         std::find(kWeights.begin(), kWeights.end(), key) != kWeights.end();
    if (!is_read) fields[key] = value;
  }
  return fields.empty() ? std::string() : fields.dump();
}

/// A member that may be JSON or a string of it. Many data sets store tools as a string of JSON, since their objects
/// have no common type for a table's column.
std::string json_member(const json& record, const char* key, const std::string& what) {
  const json* value = optional_member(record, key);
  if (!is_given(value)) return {};
  if (!value->is_string()) return value->dump();
  const json parsed = parse_ordered_json(value->get<std::string>(), fmt::format("\"{}\" of {}", key, what));
  return is_given(&parsed) && !parsed.is_null() ? parsed.dump() : std::string();
}

/// A role that the template would merely write down, so that the model would see a name that it has never seen.
void check_role(const Message& message, const PromptTemplate& prompt_template) {
  constexpr std::array<const char*, 4> kKnown{"system", "user", "assistant", "tool"};
  const std::string& role = message.role;
  if (std::find(kKnown.begin(), kKnown.end(), role) != kKnown.end()) return;
  const bool is_call = role == "function_call";
  if (!is_call && prompt_template.uses(role)) return;
  const std::string meant = is_call ? "assistant" : nearest(role, {kKnown.begin(), kKnown.end()}).value_or("NAME");
  throw DataError(fmt::format("a message has the role {}", shown(role)),
                  fmt::format("the template {} does not name it; {} are known", prompt_template.name(),
                              "system, user, assistant and tool"),
                  fmt::format("Say which of them it is: --map role:{}={}.", meant, shown(role)));
}

}  // namespace

bool is_given(const json* value) {
  if (!value || value->empty()) return false;
  return !value->is_string() || !value->get_ref<const std::string&>().empty();
}

bool have_same_text(const Conversation& a, const Conversation& b) {
  return std::equal(a.messages.begin(), a.messages.end(), b.messages.begin(), b.messages.end(),
                    [](const Message& x, const Message& y) { return x.role == y.role && x.content == y.content; });
}

void Conversation::append(const Conversation& other) {
  messages.insert(messages.end(), other.messages.begin(), other.messages.end());
  if (tools.empty()) tools = other.tools;
  if (documents.empty()) documents = other.documents;
}

void Conversation::mask_prompt() {
  for (Message& message : messages)
    message.is_trained = false;
}

// A message that only calls tools may lack a content, which templates distinguish from an empty one (has_content).
Conversation read_message(const json& message, const std::string& what) {
  const std::string of_what = fmt::format("a message of {}", what);
  refuse_functions(message, of_what);
  const bool is_openai = optional_member(message, "role") != nullptr;
  const char *role_key = is_openai ? "role" : "from", *content_key = is_openai ? "content" : "value";
  Message one;
  const std::string role = text_member(message, role_key, of_what);
  one.role = role_of(role);
  if (one.role != role) one.given_role = role;
  one.has_content = !is_given(optional_member(message, "tool_calls")) || optional_member(message, content_key);
  if (one.has_content) one.content = content_of(member(message, content_key, of_what), what);
  one.fields = further_fields(message, role_key, content_key);
  one.is_trained = is_weighted(message, what);
  Conversation conversation;
  conversation.add(std::move(one));
  return conversation;
}

Conversation read_messages(const json& list, const std::string& what) {
  if (!list.is_array()) throw DataError(fmt::format("the messages of {} are not a list", what));
  if (list.empty()) throw DataError(fmt::format("{} has an empty list of messages", what));
  Conversation all;
  for (const json& message : list)
    all.append(read_message(message, what));
  return all;
}

Conversation read_conversation(const json& record, const std::string& what) {
  refuse_functions(record, what);
  const json *list = optional_member(record, "messages"), *other = optional_member(record, "conversations");
  if (!is_given(list) && other) std::swap(list, other);
  if (!list) throw DataError(fmt::format("{} has neither \"messages\" nor \"conversations\"", what));
  const Conversation conversation = read_messages(*list, what);
  if (is_given(other) && !have_same_text(conversation, read_messages(*other, what)))
    throw DataError(fmt::format("{} has two conversations, \"messages\" and \"conversations\"", what), "",
                    "Leave out the one that is not meant: --map unused=conversations.");
  return joined(read_setting(record, what), conversation, what);
}

Conversation read_setting(const json& record, const std::string& what) {
  Conversation setting;
  setting.tools = json_member(record, "tools", what);
  setting.documents = json_member(record, "documents", what);
  if (!optional_member(record, "system")) return setting;
  const std::string system = text_member(record, "system", what);
  if (!system.empty()) setting.add({"system", system});
  return setting;
}

void refuse_context(const json& record, const std::string& what) {
  for (const char* key : {"tools", "documents"})
    if (is_given(optional_member(record, key)))
      throw DataError(fmt::format("{} has \"{}\"", what, key), "only the templates of messages have a place for them",
                      "Write its prompt and answers as lists of messages.");
}

// Some data sets write the system message twice, in the record and in front of its messages; only where the two differ
// is it unclear which is meant.
Conversation joined(const Conversation& setting, const Conversation& messages, const std::string& what) {
  Conversation all = setting;
  const bool have_both = !setting.messages.empty() && !messages.messages.empty() &&
                         setting.messages.front().role == "system" && messages.messages.front().role == "system";
  if (have_both && setting.messages.front().content != messages.messages.front().content)
    throw DataError(fmt::format("{} has two system messages", what),
                    "\"system\" is another one than that in front of its messages");
  if (have_both) all.messages.clear();
  all.append(messages);
  return all;
}

// What a template would leave out silently is refused: a model trained on conversations whose tools or calls are
// missing learns to call tools that it was never shown.
std::vector<TextPiece> render(const PromptTemplate& prompt_template, const Conversation& conversation) {
  const auto refuse = [&](const char* key) {
    throw DataError(fmt::format("the record has \"{}\"", key),
                    fmt::format("the template {} has no place for them", prompt_template.name()),
                    "Use a template that has, or leave such records out with --skip-bad.");
  };
  if (!conversation.tools.empty() && !prompt_template.uses("tools")) refuse("tools");
  for (const Message& message : conversation.messages)
    check_role(message, prompt_template);
  for (const Message& message : conversation.messages)
    if (message.fields.find("\"tool_calls\"") != std::string::npos && !prompt_template.uses("tool_calls") &&
        is_given(optional_member(parse_ordered_json(message.fields, "a message"), "tool_calls")))
      refuse("tool_calls");
  return prompt_template.conversation({conversation.messages, conversation.tools, conversation.documents},
                                      Turn::closed);
}

bool has_reasoning(const json& record) {
  const auto has = [](const json& message) {
    return std::any_of(kReasoningNames.begin(), kReasoningNames.end(),
                       [&](const char* key) { return is_given(optional_member(message, key)); });
  };
  if (!record.is_object()) return false;
  for (const auto& [key, value] : record.items())
    if (value.is_array() ? std::any_of(value.begin(), value.end(), has) : value.is_object() && has(value)) return true;
  return false;
}

}  // namespace multicard
