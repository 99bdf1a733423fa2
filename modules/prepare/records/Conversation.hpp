#pragma once
/// \file Messages as data sets spell them.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/prompts/PromptTemplate.hpp"

namespace multicard {

/// Messages, and what else a template may use.
struct Conversation {
  std::vector<Message> messages;
  std::string tools = {}, documents = {};  ///< JSON; empty: none

  void add(Message message) { messages.push_back(std::move(message)); }
  void append(const Conversation& other);
  /// Masks all messages so far, as those of a prompt: none of their tokens is a target.
  void mask_prompt();
};

/// Whether roles and contents are the same.
bool have_same_text(const Conversation& a, const Conversation& b);

/// A list of messages: {role, content} (content may be a list of text parts) or {from, value}; `weight`, `loss_weight`,
/// `train`, `loss` or `training` of 0 or false keep an answer from being learnt. `what` names the list in errors.
/// \throws DataError for anything that no template can render.
Conversation read_messages(const nlohmann::ordered_json& list, const std::string& what);
/// One message of such a list.
Conversation read_message(const nlohmann::ordered_json& message, const std::string& what);

/// Whether a member is there and neither null nor empty.
bool is_given(const nlohmann::ordered_json* value);

/// What a record holds besides its messages: `system` as a first message, `tools` and `documents`.
Conversation read_setting(const nlohmann::ordered_json& record, const std::string& what);
/// \throws DataError where a record whose prompt and answers are texts has `tools` or `documents`
void refuse_context(const nlohmann::ordered_json& record, const std::string& what);
/// `setting` in front of `messages`. \throws DataError where both have a system message and these differ
Conversation joined(const Conversation& setting, const Conversation& messages, const std::string& what);

/// The record's messages: the member `messages` or `conversations`, and `system` in front if it is there; `tools` and
/// `documents`.
Conversation read_conversation(const nlohmann::ordered_json& record, const std::string& what);

/// The text of a conversation with the template; only answers that are trained are targets. \throws DataError when the
/// template has no place for the tools that it has
std::vector<TextPiece> render(const PromptTemplate& prompt_template, const Conversation& conversation);

/// Whether a message of the record has reasoning besides its content.
bool has_reasoning(const nlohmann::ordered_json& record);

}  // namespace multicard
