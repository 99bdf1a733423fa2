#include "data/Conversation.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "text/Json.hpp"

namespace multicard {

namespace {

using nlohmann::json;

constexpr const char* kAssistant = "assistant";

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
    content += text_member(part, "text", what);
  }
  return content;
}

void refuse_tools(const json& object, const std::string& what) {
  for (const char* key : {"tools", "tool_calls", "functions", "function_call"}) {
    const json* value = optional_member(object, key);
    if (value && !value->empty()) throw DataError(fmt::format("{} has \"{}\", which cannot be rendered", what, key));
  }
}

bool is_weighted(const json& message, const std::string& what) {
  const json* weight = optional_member(message, "weight");
  if (!weight) return true;
  if (*weight != 0 && *weight != 1) throw DataError(fmt::format("a weight in {} is neither 0 nor 1", what));
  return *weight == 1;
}

}  // namespace

void Conversation::add(Message message, bool is_trained_on) {
  messages.push_back(std::move(message));
  is_trained.push_back(is_trained_on);
}

void Conversation::append(const Conversation& other) {
  messages.insert(messages.end(), other.messages.begin(), other.messages.end());
  is_trained.insert(is_trained.end(), other.is_trained.begin(), other.is_trained.end());
}

void Conversation::mask_all() {
  is_trained.assign(messages.size(), false);
}

Conversation read_message(const json& message, const std::string& what) {
  refuse_tools(message, fmt::format("a message of {}", what));
  const bool is_openai = optional_member(message, "role") != nullptr;
  const std::string of_what = fmt::format("a message of {}", what);
  const std::string role = role_of(text_member(message, is_openai ? "role" : "from", of_what));
  Conversation one;
  one.add({role, content_of(member(message, is_openai ? "content" : "value", of_what), what)},
          is_weighted(message, what));
  return one;
}

Conversation read_messages(const json& list, const std::string& what) {
  if (!list.is_array() || list.empty()) throw DataError(fmt::format("the messages of {} are not a list", what));
  Conversation all;
  for (const json& message : list)
    all.append(read_message(message, what));
  return all;
}

Conversation read_conversation(const json& record, const std::string& what) {
  refuse_tools(record, what);
  const json* list = optional_member(record, "messages");
  if (!list) list = optional_member(record, "conversations");
  if (!list) throw DataError(fmt::format("{} has neither \"messages\" nor \"conversations\"", what));
  Conversation all;
  if (optional_member(record, "system")) {
    const std::string system = text_member(record, "system", what);
    if (!system.empty()) all.add({"system", system});
  }
  all.append(read_messages(*list, what));
  return all;
}

std::vector<TextPiece> render(const PromptTemplate& prompt_template, const Conversation& conversation) {
  std::vector<TextPiece> pieces = prompt_template.conversation(conversation.messages, Turn::closed);
  // The template makes one target of each answer, in their order.
  auto target = pieces.begin();
  for (std::size_t i = 0; i < conversation.messages.size(); ++i) {
    if (conversation.messages[i].role != kAssistant) continue;
    while (!target->is_target)
      ++target;
    target->is_target = conversation.is_trained[i];
    ++target;
  }
  return pieces;
}

}  // namespace multicard
