#pragma once
/// \file The markers with which a chat template ends answers.

#include <string>
#include <string_view>

namespace multicard {

/// The markers that end answers, without white space around them; empty where there is none, or where it is unclear.
/// Most templates have one; some (gpt-oss) end the last answer of a conversation in another way than those before.
struct TurnEnds {
  std::string last;   ///< of the answer at the end of a conversation
  std::string inner;  ///< of answers that a further question follows
};

/// Parts of the renderings of one short conversation.
struct TurnTexts {
  std::string_view beginning;  ///< before the first question
  std::string_view question;   ///< between a question and its answer
  std::string_view last;       ///< after an answer at the end
  std::string_view inner;      ///< between an answer and the next question
};

/// The markers, each whole: two that only begin alike, as "<|end|>" and "<|return|>" do, end where their brackets
/// close. `eos` is the text of the EOS, perhaps empty.
TurnEnds find_turn_ends(const TurnTexts& texts, std::string_view eos);

}  // namespace multicard
