#include "prepare/records/RecordMap.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/JsonReader.hpp"
#include "prepare/records/Conversation.hpp"
#include "prepare/records/RecordFields.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;

/// Where lists of messages stand.
constexpr std::array kMessageLists{"messages", "conversations", "prompt", "completion", "chosen", "rejected"};

/// A field, and other names that it may have where it is missing. None makes a record of one type one of another.
struct Synonyms {
  std::optional<DatasetType> type;  ///< nothing: all types that have the field
  const char* name;
  std::vector<const char*> others;
};

// Only names that cannot be taken for another field of the type, and only where exactly one of them is there: a guess
// that may be wrong is left to --map.
const std::vector<Synonyms>& synonyms() {
  static const std::vector<Synonyms> all{
      {DatasetType::alpaca, "instruction", {"prompt", "question", "query"}},
      {DatasetType::alpaca, "input", {"context"}},
      {DatasetType::alpaca, "output", {"response"}},
      {DatasetType::prompt_completion, "prompt", {"instruction", "question", "query"}},
      {DatasetType::prompt_completion, "completion", {"response"}},
      {DatasetType::question_answer, "question", {"query", "prompt", "instruction"}},
      {DatasetType::question_answer, "answer", {"response"}},
      {DatasetType::chat, "messages", {"conversation", "dialogue", "dialog", "chat", "turns"}},
      {DatasetType::text, "text", {"content", "document"}},
      {std::nullopt, "system", {"system_prompt", "system_message"}}};
  return all;
}

/// Roles that no template knows and that mean one which all know.
constexpr std::array<std::pair<const char*, const char*>, 5> kRoles{
    {{"bot", "assistant"}, {"chatgpt", "assistant"}, {"ai", "assistant"}, {"prompter", "user"}, {"function", "tool"}}};

void move_member(json& object, const std::string& from, const std::string& to) {
  json value = std::move(object[from]);
  object.erase(from);
  object[to] = std::move(value);
}

/// Renames the only other name that is there, if the field has a list of messages or is not a list.
void find_synonym(json& record, const Synonyms& one) {
  const auto is_there = [&](const char* name) { return is_given(optional_member(record, name)); };
  if (is_there(one.name) || (one.type == DatasetType::chat && is_there("conversations"))) return;
  if (std::count_if(one.others.begin(), one.others.end(), is_there) != 1) return;
  const char* const other = *std::find_if(one.others.begin(), one.others.end(), is_there);
  if (record[other].is_array() == (one.type == DatasetType::chat)) move_member(record, other, one.name);
}

const char* role_key(const json& message) {
  return message.contains("role") ? "role" : "from";
}

}  // namespace

RecordMap::RecordMap(DatasetType type, const std::vector<std::string>& options) : type_(type), options_(options) {
  for (const std::string& option : options)
    add(option);
}

void RecordMap::add(const std::string& option) {
  const std::size_t equals = option.find('=');
  std::string name = option.substr(0, equals);
  std::vector<Renaming*>* group = &fields_;
  if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
    const std::string kind = name.substr(0, colon);
    if (kind != "role" && kind != "message")
      throw UsageError(fmt::format("--map {} has an unknown kind \"{}\"", option, kind), "",
                       "Use NAME=THEIRS, message:NAME=THEIRS or role:NAME=THEIRS.");
    group = kind == "role" ? &roles_ : &message_fields_;
    name = name.substr(colon + 1);
  }
  if (equals == std::string::npos || name.empty() || equals + 1 == option.size())
    throw UsageError(fmt::format("--map {} is not NAME=THEIRS", option), "",
                     "For example --map instruction=prompt where the data calls the instruction \"prompt\".");
  Renaming& renaming = renamings_.emplace_back();
  renaming.to = name;
  renaming.from = option.substr(equals + 1);
  // Roles may have several names, a field has one.
  const auto is_same = [&](const Renaming* other) {
    return other->from == renaming.from || (group != &roles_ && other->to == renaming.to);
  };
  if (std::any_of(group->begin(), group->end(), is_same))
    throw UsageError(fmt::format("--map {} maps a name twice", option));
  group->push_back(&renaming);
}

void RecordMap::apply(json& record) {
  if (!record.is_object()) return;
  std::vector<std::pair<const Renaming*, json>> found;  // taken out first, so that names can be exchanged
  for (Renaming* field : fields_) {
    if (!record.contains(field->from)) continue;
    field->is_used = true;
    found.emplace_back(field, std::move(record[field->from]));
    record.erase(field->from);
  }
  for (auto& [field, value] : found)
    record[field->to] = std::move(value);
  for (const Synonyms& one : synonyms())
    if (one.type ? *one.type == type_ : find_key(fields_of(type_), one.name) != nullptr) find_synonym(record, one);
  for (const char* list : kMessageLists)
    if (const auto messages = record.find(list); messages != record.end() && messages->is_array())
      rename_roles(*messages);
}

void RecordMap::rename_roles(json& messages) {
  for (json& message : messages) {
    if (!message.is_object()) continue;
    for (Renaming* field : message_fields_) {
      if (!message.contains(field->from)) continue;
      field->is_used = true;
      move_member(message, field->from, field->to);
    }
    const auto role = message.find(role_key(message));
    if (role == message.end() || !role->is_string()) continue;
    const auto& name = role->get_ref<const std::string&>();
    const auto mapped =
        std::find_if(roles_.begin(), roles_.end(), [&](const Renaming* one) { return one->from == name; });
    // What --map says comes before what is known: "function" may be the user's in some data set.
    const auto known = std::find_if(kRoles.begin(), kRoles.end(), [&](const auto& one) { return name == one.first; });
    if (mapped != roles_.end()) {
      (*mapped)->is_used = true;
      *role = (*mapped)->to;
    } else if (known != kRoles.end()) {
      *role = known->second;
    }
  }
}

std::vector<bool> RecordMap::uses() const {
  std::vector<bool> result;
  for (const Renaming& renaming : renamings_)
    result.push_back(renaming.is_used);
  return result;
}

}  // namespace multicard
