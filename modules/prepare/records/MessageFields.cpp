#include "prepare/records/MessageFields.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/JsonReader.hpp"
#include "prepare/records/Conversation.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;
using enum KeyUse;

constexpr const char* kOnlyText = "only text is trained on";
constexpr const char* kTrained = "whether the answer is trained on: 1 or true, 0 or false";
constexpr const char* kPassed = "for the template";
constexpr const char* kReasoning = "for the template; that one does not write it is said";
constexpr const char* kParts = "parts of an answer that are trained on; whole answers are";

// Fields that change what is trained on, in some tool's dialect, are refused where they are not understood; fields for
// the template are passed to it as they are.
constexpr ForeignKey kMessage[] = {
    {"role", used, "who speaks"},
    {"from", used, "who speaks"},
    {"content", used, "what is said: a text, or a list of parts of type text"},
    {"value", used, "what is said, with from"},
    {"weight", used, kTrained},
    {"loss_weight", used, kTrained},
    {"train", used, kTrained},
    {"loss", used, kTrained},
    {"training", used, kTrained},
    {"tool_calls", used, kPassed},
    {"tool_call_id", used, kPassed},
    {"name", used, kPassed},
    {"reasoning_content", used, kReasoning},
    {"reasoning", used, kReasoning},
    {"thinking", used, kReasoning},
    {"id", harmless, "name of the message"},
    {"uuid", harmless, "name of the message"},
    {"index", harmless, "number of the message"},
    {"timestamp", harmless, "date"},
    {"date", harmless, "date"},
    {"created_at", harmless, "date"},
    {"model", harmless, "which model has written it"},
    {"source", harmless, "where it comes from"},
    {"lang", harmless, "language"},
    {"language", harmless, "language"},
    {"score", harmless, "rating"},
    {"metadata", harmless, "facts about the message"},
    {"meta", harmless, "facts about the message"},
    {"functions", unsupported, "\"tools\" of a record are read"},
    {"function_call", unsupported, "\"tool_calls\" are read"},
    {"loss_scale", unsupported, "how much an answer counts; all count alike"},
    {"train_detail", unsupported, kParts},
    {"training_detail", unsupported, kParts},
    {"image", unsupported, kOnlyText},
    {"images", unsupported, kOnlyText},
    {"video", unsupported, kOnlyText},
    {"videos", unsupported, kOnlyText},
    {"audio", unsupported, kOnlyText},
    {"audios", unsupported, kOnlyText},
};

bool is_message(const json& value) {
  return value.is_object() && (optional_member(value, "role") || optional_member(value, "from"));
}

void look_up(const json& message, const std::string& what, std::vector<std::string>& unknown) {
  for (const auto& [name, value] : message.items()) {
    if (!is_given(&value)) continue;
    const ForeignKey* field = find_key(kMessage, name);
    if (field && field->use == unsupported)
      throw DataError(fmt::format("a message of {} has \"{}\" ({}), which is not read", what, name, field->note), "",
                      "Take it out where it does not matter.");
    if (!field && std::find(unknown.begin(), unknown.end(), name) == unknown.end()) unknown.push_back(name);
  }
}

}  // namespace

std::span<const ForeignKey> message_fields() {
  return kMessage;
}

std::vector<std::string> unknown_message_fields(const json& record, const std::string& what) {
  std::vector<std::string> unknown;
  if (!record.is_object()) return unknown;
  for (const auto& [name, value] : record.items()) {
    if (is_message(value)) look_up(value, what, unknown);
    if (!value.is_array()) continue;
    for (const json& one : value)
      if (is_message(one)) look_up(one, what, unknown);
  }
  return unknown;
}

}  // namespace multicard
