#include "prepare/records/RecordFields.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/JsonReader.hpp"
#include "prepare/records/Conversation.hpp"
#include "prepare/records/MessageFields.hpp"
#include "text/jinja/PythonText.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;
using enum KeyUse;

constexpr const char* kMoreQuestion = "more of the question";
constexpr const char* kOnlyMessages = "only templates of messages have a place for it";
constexpr const char* kOnlyText = "only text is trained on";

// Three kinds of fields besides those that are read: harmless ones are passed over in silence, unsupported ones would
// change the text or its weight and are refused, and what is in no list is named in a warning.
constexpr ForeignKey kCommon[] = {
    {"id", harmless, "name of the record"},
    {"_id", harmless, "name of the record"},
    {"idx", harmless, "number of the record"},
    {"index", harmless, "number of the record"},
    {"uuid", harmless, "name of the record"},
    {"prompt_id", harmless, "name of the prompt"},
    {"conversation_id", harmless, "name of the conversation"},
    {"source", harmless, "where the record comes from"},
    {"dataset", harmless, "where the record comes from"},
    {"origin", harmless, "where the record comes from"},
    {"url", harmless, "where the record comes from"},
    {"license", harmless, "licence of the record"},
    {"category", harmless, "kind of the record"},
    {"type", harmless, "kind of the record"},
    {"topic", harmless, "kind of the record"},
    {"lang", harmless, "language"},
    {"language", harmless, "language"},
    {"split", harmless, "part of the data set"},
    {"timestamp", harmless, "date"},
    {"date", harmless, "date"},
    {"model", harmless, "which model has written the answer"},
    {"metadata", harmless, "facts about the record"},
    {"meta", harmless, "facts about the record"},
    {"score", harmless, "rating"},
    {"score_chosen", harmless, "rating of the chosen answer"},
    {"score_rejected", harmless, "rating of the rejected answer"},
    {"chosen_score", harmless, "rating of the chosen answer"},
    {"rejected_score", harmless, "rating of the rejected answer"},
    {"chosen_model", harmless, "which model has written the answer"},
    {"rejected_model", harmless, "which model has written the answer"},
    {"image", unsupported, kOnlyText},
    {"images", unsupported, kOnlyText},
    {"video", unsupported, kOnlyText},
    {"videos", unsupported, kOnlyText},
    {"audio", unsupported, kOnlyText},
    {"audios", unsupported, kOnlyText},
};

constexpr ForeignKey kAlpaca[] = {
    {"instruction", used, "the instruction"},
    {"input", used, "more of the instruction; may be empty"},
    {"output", used, "the answer, which is trained on"},
    {"system", used, "the system message"},
    {"history", used, "a list of [instruction, output] before"},
    {"text", harmless, "the record with a template, as Stanford's file has it"},
    {"context", unsupported, "more of the instruction, in addition to input"},
    {"tools", unsupported, kOnlyMessages},
    {"documents", unsupported, kOnlyMessages},
};

constexpr ForeignKey kChat[] = {
    {"messages", used, "the conversation"},
    {"conversations", used, "the conversation"},
    {"system", used, "a system message in front of it"},
    {"tools", used, "the tools that may be called, for the template"},
    {"documents", used, "documents, for the template"},
    {"prompt", harmless, "one of the questions again; any other text is named in a warning"},
    {"functions", unsupported, "the functions that may be called; \"tools\" are read"},
    {"function_call", unsupported, "a call of a function; \"tool_calls\" of a message are read"},
    {"chat_template_kwargs", unsupported, "variables of the template"},
};

constexpr ForeignKey kCompletion[] = {
    {"prompt", used, "the prompt"},
    {"completion", used, "what follows it, which is trained on"},
    {"system", used, "the system message"},
    {"tools", used, "the tools that may be called, for the template"},
    {"documents", used, "documents, for the template"},
    {"input", unsupported, kMoreQuestion},
    {"context", unsupported, kMoreQuestion},
    {"history", unsupported, "the conversation before"},
};

constexpr ForeignKey kAnswer[] = {
    {"question", used, "the question"},
    {"answer", used, "the answer, which is trained on"},
    {"system", used, "the system message"},
    {"input", unsupported, kMoreQuestion},
    {"context", unsupported, kMoreQuestion},
    {"passage", unsupported, kMoreQuestion},
    {"choices", unsupported, "answers to choose from"},
    {"options", unsupported, "answers to choose from"},
    {"history", unsupported, "the conversation before"},
    {"tools", unsupported, kOnlyMessages},
    {"documents", unsupported, kOnlyMessages},
};

constexpr ForeignKey kText[] = {
    {"text", used, "the text, which is trained on"},
};

constexpr ForeignKey kPreference[] = {
    {"chosen", used, "the better answer"},
    {"rejected", used, "the other answer"},
    {"prompt", used, "the prompt"},
    {"question", used, "the prompt"},
    {"query", used, "the prompt"},
    {"instruction", used, "the prompt"},
    {"input", used, "more of the instruction, or the prompt"},
    {"conversations", used, "the prompt"},
    {"messages", used, "the prompt"},
    {"system", used, "the system message"},
    {"history", used, "a list of [instruction, output] before an instruction"},
    {"tools", used, "the tools that may be called, for the template"},
    {"documents", used, "documents, for the template"},
    {"context", unsupported, kMoreQuestion},
};

constexpr ForeignKey kTokens[] = {
    {"input_ids", used, "the tokens"},
    {"labels", used, "which of them are trained on"},
    {"chosen_input_ids", used, "tokens of the better answer and its prompt"},
    {"chosen_labels", used, "which of them are trained on"},
    {"rejected_input_ids", used, "tokens of the other answer and its prompt"},
    {"rejected_labels", used, "which of them are trained on"},
    {"attention_mask", used, "ones; zeros are padding, which has no place here"},
    {"chosen_attention_mask", used, "ones; zeros are padding, which has no place here"},
    {"rejected_attention_mask", used, "ones; zeros are padding, which has no place here"},
    {"position_ids", used, "0, 1, 2 and so on; no others are possible here"},
    {"chosen_position_ids", used, "0, 1, 2 and so on; no others are possible here"},
    {"rejected_position_ids", used, "0, 1, 2 and so on; no others are possible here"},
    {"token_type_ids", harmless, "Llama models have none"},
    {"length", harmless, "number of tokens"},
};

/// Whether `prompt`, next to the messages of a conversation, is one of its questions.
bool is_question(const json& prompt, const json& record) {
  if (!prompt.is_string()) return false;
  const std::string_view text = python_strip(prompt.get_ref<const std::string&>());
  const auto is_same = [&](const json& message) {
    const json* content = optional_member(message, optional_member(message, "role") ? "content" : "value");
    return content && content->is_string() && python_strip(content->get_ref<const std::string&>()) == text;
  };
  for (const char* name : {"messages", "conversations"})
    if (const json* list = optional_member(record, name); list && list->is_array())
      return std::any_of(list->begin(), list->end(), is_same);
  return false;
}

}  // namespace

std::span<const ForeignKey> fields_of(DatasetType type) {
  switch (type) {
    case DatasetType::alpaca:
      return kAlpaca;
    case DatasetType::chat:
      return kChat;
    case DatasetType::prompt_completion:
      return kCompletion;
    case DatasetType::text:
      return kText;
    case DatasetType::question_answer:
      return kAnswer;
    case DatasetType::preference:
      return kPreference;
    case DatasetType::tokens:
      break;
  }
  return kTokens;
}

std::vector<ForeignFormat> record_formats() {
  std::vector<ForeignFormat> formats;
  for (const Word<DatasetType>& word : kDatasetTypeWords)
    formats.push_back(
        {std::string(word.text), fmt::format("Records of --type {}", word.text), {fields_of(word.value)}});
  formats.push_back({"record", "Records of any type", {kCommon}});
  formats.push_back({"message", "Members of messages in records", {message_fields()}});
  return formats;
}

std::vector<std::string> unknown_fields(const json& record, DatasetType type, const std::string& what) {
  std::vector<std::string> unknown;
  if (!record.is_object()) return unknown;
  for (const auto& [name, value] : record.items()) {
    if (!is_given(&value)) continue;
    const ForeignKey* field = find_key(fields_of(type), name);
    if (!field) field = find_key(kCommon, name);
    const bool is_lost = type == DatasetType::chat && name == "prompt" && !is_question(value, record);
    if (!field || is_lost) {
      unknown.push_back(name);
    } else if (field->use == unsupported) {
      throw DataError(
          fmt::format("{} has \"{}\" ({}), which type {} does not read", what, name, field->note, name_of(type)), "",
          fmt::format("Take it out where it does not matter, or map it: --map NAME={}.", name));
    }
  }
  return unknown;
}

}  // namespace multicard
