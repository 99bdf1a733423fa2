#include "prepare/records/PreferencePrompt.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "io/JsonReader.hpp"
#include "text/jinja/PythonText.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;

/// Where text of a prompt may stand.
constexpr std::array kMembers{"instruction", "prompt",  "question",      "query",
                              "input",       "history", "conversations", "messages"};

bool holds(const json& record, const char* name) {
  return is_given(optional_member(record, name));
}

/// Some data sets repeat the better conversation in a member of its own.
bool repeats_chosen(const json& record, const char* name) {
  const json* chosen = optional_member(record, "chosen");
  return chosen && record[name].is_array() && record[name] == *chosen;
}

std::string find_name(const json& record) {
  if (holds(record, "prompt") && record["prompt"].is_array()) return "prompt";
  for (const char* name : {"instruction", "prompt", "question", "query", "input", "conversations", "messages"})
    if (holds(record, name) && !repeats_chosen(record, name)) return name;
  return {};
}

bool is_list(const std::string& name, const json& record) {
  return name == "conversations" || name == "messages" || record[name].is_array();
}

/// The same prompt, whether or not a system message is in front of it. Data sets put the system message in one of the
/// two places, or in both.
bool are_same(const Conversation& a, const Conversation& b) {
  const auto without_system = [](Conversation one) {
    if (!one.messages.empty() && one.messages.front().role == "system") one.messages.erase(one.messages.begin());
    return one;
  };
  return have_same_text(without_system(a), without_system(b));
}

}  // namespace

PreferencePrompt::PreferencePrompt(const json& record, std::string what)
    : record_(record), what_(std::move(what)), name_(find_name(record)) {
  require_nothing_else();
  const json* own = optional_member(record, "prompt");
  if (!exists() && own && !own->is_null()) throw DataError(fmt::format("the prompt of {} is empty", what_));
}

bool PreferencePrompt::is_text() const {
  return exists() && !is_list(name_, record_);
}

std::string PreferencePrompt::text() const {
  const std::string own = text_member(record_, name_.c_str(), what_);
  return is_instruction() && holds(record_, "input") ? own + "\n" + text_member(record_, "input", what_) : own;
}

std::optional<Conversation> PreferencePrompt::messages() const {
  if (!exists()) return std::nullopt;
  Conversation prompt;
  if (is_text()) {
    if (holds(record_, "history"))
      throw DataError(fmt::format("{} has \"history\"", what_), "it is read where both answers are texts",
                      "Write its prompt as a list of messages.");
    prompt.add({"user", text()});
  } else {
    prompt = read_messages(record_[name_], what_);
  }
  prompt.mask_prompt();
  return prompt;
}

void PreferencePrompt::require_same_as(const Conversation& carried) const {
  const std::optional<Conversation> own = messages();
  if (!own || are_same(*own, carried)) return;
  // Data sets often repeat a question of the conversation in a member of its own.
  const std::string_view question = python_strip(own->messages.front().content);
  const auto is_question = [&](const Message& message) {
    return message.role == "user" && python_strip(message.content) == question;
  };
  if (is_text() && std::any_of(carried.messages.begin(), carried.messages.end(), is_question)) return;
  throw DataError(fmt::format("{} has two prompts", what_),
                  fmt::format("its answers begin with another one than \"{}\"", name_),
                  fmt::format("Leave out the one that is not meant: --map unused={}.", name_));
}

bool PreferencePrompt::is_repetition(const json& value) const {
  return !name_.empty() && value == record_[name_];
}

// A field that may hold text of the prompt and is not read would silently shorten it. Repetitions of the prompt, or of
// the better conversation, lose nothing.
void PreferencePrompt::require_nothing_else() const {
  for (const char* name : kMembers) {
    const bool is_read = name == name_ || (is_instruction() &&
                                           (name == std::string_view("input") || name == std::string_view("history")));
    if (is_read || !holds(record_, name) || is_repetition(record_[name]) || repeats_chosen(record_, name)) continue;
    const std::string_view other = name;
    if (other == "history" || (other == "input" && exists()))
      throw DataError(fmt::format("{} has \"{}\" without \"instruction\"", what_, name), "it would be lost",
                      exists() && is_text()
                          ? fmt::format("Read it with its question: --map instruction={}.", name_)
                          : fmt::format("Leave it out where it does not matter: --map unused={}.", name));
    throw DataError(fmt::format("{} has two prompts, \"{}\" and \"{}\"", what_, name_, name), "",
                    fmt::format("Leave out the one that is not meant: --map unused={}.", name));
  }
}

}  // namespace multicard
