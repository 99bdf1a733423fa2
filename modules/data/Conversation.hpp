#pragma once
/// \file Messages as data sets spell them.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/PromptTemplate.hpp"

namespace multicard {

/// Messages, and for each whether it is to be learnt if it is an answer.
struct Conversation {
  std::vector<Message> messages;
  std::vector<bool> is_trained;

  void add(Message message, bool is_trained_on = true);
  void append(const Conversation& other);
  /// From here on nothing of what is there so far is a target.
  void mask_all();
};

/// A list of messages: {role, content} (content may be a list of text parts, `weight` 0 keeps an answer from being
/// learnt) or {from, value}. `what` names the list in errors. \throws DataError for anything that cannot be rendered.
Conversation read_messages(const nlohmann::json& list, const std::string& what);
/// One message of such a list.
Conversation read_message(const nlohmann::json& message, const std::string& what);

/// The record's messages: the member `messages` or `conversations`, and `system` in front if it is there.
Conversation read_conversation(const nlohmann::json& record, const std::string& what);

/// The text of a conversation with the template; only answers that are trained are targets.
std::vector<TextPiece> render(const PromptTemplate& prompt_template, const Conversation& conversation);

}  // namespace multicard
