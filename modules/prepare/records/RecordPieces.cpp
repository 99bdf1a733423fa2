#include "prepare/records/RecordPieces.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/JsonReader.hpp"
#include "prepare/records/Conversation.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;

/// Empty when it is missing or null.
std::string text_or_nothing(const json& record, const char* key, const std::string& what) {
  return optional_member(record, key) ? text_member(record, key, what) : std::string();
}

Pieces joined_texts(std::string prompt, std::string completion) {
  // The completion continues the prompt: both are tokenised as one text, as they stand in a plain file, and a token may
  // reach over the border.
  return {{std::move(prompt), false, false}, {std::move(completion), true, true, true}};
}

/// Two texts, as an instruction and its output or, with template plain, just one after the other.
Pieces text_turn(const PromptTemplate& prompt_template, const std::string& prompt, const std::string& completion,
                 const std::string& system) {
  if (prompt_template.name() != "plain") return prompt_template.instruction(prompt, "", completion, system);
  if (!system.empty())
    throw DataError("the record has \"system\"", "the template plain has no place for it",
                    "Use a template that has, for example --template alpaca.");
  return joined_texts(prompt, completion);
}

/// The prompt's answers are not to be learnt again.
Pieces continued(const PromptTemplate& prompt_template, Conversation prompt, const Conversation& completion) {
  prompt.mask_prompt();
  prompt.append(completion);
  return render(prompt_template, prompt);
}

// LLaMA-Factory's form of several turns in an Alpaca record; each becomes a turn of the chat template, and all outputs
// are targets.
Pieces turn_with_history(const json& record, const PromptTemplate& prompt_template, const std::string& what) {
  Conversation all = read_setting(record, what);
  for (const json& turn : list_member(record, "history", what)) {
    if (!turn.is_array() || turn.size() != 2 || !turn[0].is_string() || !turn[1].is_string())
      throw DataError(fmt::format("the history of {} is not a list of [instruction, output]", what));
    all.add({"user", turn[0].get<std::string>()});
    all.add({"assistant", turn[1].get<std::string>()});
  }
  std::string question = text_member(record, "instruction", what);
  const std::string input = text_or_nothing(record, "input", what);
  if (!input.empty()) question += "\n" + input;
  all.add({"user", question});
  all.add({"assistant", text_member(record, "output", what)});
  return render(prompt_template, all);
}

}  // namespace

Pieces alpaca_pieces(const json& record, const PromptTemplate& prompt_template, const std::string& what) {
  refuse_context(record, what);
  const json* history = optional_member(record, "history");
  if (history && !history->empty()) return turn_with_history(record, prompt_template, what);
  return prompt_template.instruction(text_member(record, "instruction", what), text_or_nothing(record, "input", what),
                                     text_member(record, "output", what), text_or_nothing(record, "system", what));
}

Pieces chat_pieces(const json& record, const PromptTemplate& prompt_template, const std::string& what) {
  return render(prompt_template, read_conversation(record, what));
}

Pieces completion_pieces(const json& record, const PromptTemplate& prompt_template, const std::string& what) {
  const json& prompt = member(record, "prompt", what);
  const json& completion = member(record, "completion", what);
  if (prompt.is_string() && completion.is_string()) {
    refuse_context(record, what);
    return text_turn(prompt_template, prompt.get<std::string>(), completion.get<std::string>(),
                     text_or_nothing(record, "system", what));
  }
  if (!prompt.is_array() || !completion.is_array())
    throw DataError(
        fmt::format("\"prompt\" and \"completion\" of {} are neither two texts nor two lists of messages", what));
  return continued(prompt_template, joined(read_setting(record, what), read_messages(prompt, what), what),
                   read_messages(completion, what));
}

Pieces answer_pieces(const json& record, const PromptTemplate& prompt_template, const std::string& what) {
  return prompt_template.instruction(text_member(record, "question", what), "", text_member(record, "answer", what),
                                     text_or_nothing(record, "system", what));
}

Pieces plain_pieces(std::string text) {
  return {{std::move(text), true, true}};
}

}  // namespace multicard
