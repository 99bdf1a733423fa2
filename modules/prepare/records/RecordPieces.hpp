#pragma once
/// \file From the layouts of data sets to texts with targets.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/prompts/PromptTemplate.hpp"

namespace multicard {

using Pieces = std::vector<TextPiece>;

/// \name One record each; `what` names it in errors. \throws DataError
/// @{
/// instruction, input?, output, system?, history? (a list of [instruction, output])
Pieces alpaca_pieces(const nlohmann::ordered_json& record, const PromptTemplate& prompt_template,
                     const std::string& what);
/// messages or conversations
Pieces chat_pieces(const nlohmann::ordered_json& record, const PromptTemplate& prompt_template,
                   const std::string& what);
/// prompt and completion: two texts or two lists of messages; system? With template plain two texts are joined as they
/// are.
Pieces completion_pieces(const nlohmann::ordered_json& record, const PromptTemplate& prompt_template,
                         const std::string& what);
/// question and answer, system?
Pieces answer_pieces(const nlohmann::ordered_json& record, const PromptTemplate& prompt_template,
                     const std::string& what);
/// A text, all of it a target, with the EOS after it.
Pieces plain_pieces(std::string text);
/// @}

struct PiecePair {
  Pieces chosen, rejected;
};

/// chosen and rejected (texts, messages or lists of messages) with a prompt: `prompt` (a text or messages),
/// `instruction` with `input`, `question`, `query` or `input`, `conversations` or `messages`, or messages at the
/// beginning of one half or both; for two texts without any of these the beginning that they have in common. `system`
/// stands in front. Only the answers are targets.
PiecePair preference_pieces(const nlohmann::ordered_json& record, const PromptTemplate& prompt_template,
                            const std::string& what);

}  // namespace multicard
