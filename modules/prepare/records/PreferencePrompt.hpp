#pragma once
/// \file The prompt of a record of two answers, wherever the data set keeps it.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "prepare/records/Conversation.hpp"

namespace multicard {

/// The member of a record that holds its prompt, apart from its answers. Members that are null or empty hold nothing.
class PreferencePrompt {
 public:
  /// A list of messages in `prompt`; else `instruction` with `input`; else the first of `prompt`, `question`, `query`
  /// and `input`; else `conversations` or `messages`; else nothing. `what` names the record.
  /// \throws DataError where another member holds text that would be lost, or an explicit `prompt` is empty
  PreferencePrompt(const nlohmann::ordered_json& record, std::string what);

  bool exists() const { return !name_.empty(); }
  bool is_instruction() const { return name_ == "instruction"; }
  bool is_text() const;
  /// The prompt, where is_text(); an instruction is joined with its input.
  std::string text() const;
  /// The prompt as messages, none of them trained on, without what read_setting() finds. Nothing unless it exists.
  std::optional<Conversation> messages() const;
  /// \throws DataError where `carried`, with which an answer begins, is another prompt
  void require_same_as(const Conversation& carried) const;

 private:
  void require_nothing_else() const;
  bool is_repetition(const nlohmann::ordered_json& value) const;

  const nlohmann::ordered_json& record_;
  std::string what_, name_;
};

}  // namespace multicard
