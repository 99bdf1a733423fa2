#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "data/Conversation.hpp"
#include "data/RecordPieces.hpp"
#include "io/JsonReader.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;

/// One of the two answers as messages.
Conversation read_answer(const json& answer, const std::string& what) {
  if (answer.is_array()) return read_messages(answer, what);
  if (answer.is_object()) return read_message(answer, what);
  if (!answer.is_string()) throw DataError(fmt::format("an answer of {} is neither a string nor a message", what));
  Conversation one;
  one.add({"assistant", answer.get<std::string>()});
  return one;
}

/// What both begin with. It never is all of one of them.
std::size_t common_length(std::string_view a, std::string_view b) {
  std::size_t length = 0;
  while (length + 1 < std::min(a.size(), b.size()) && a[length] == b[length])
    ++length;
  // Not within a character, and a space belongs to the answer.
  while (length > 0 && (a[length] & 0xc0) == 0x80)
    --length;
  if (length > 0 && a[length - 1] == ' ') --length;
  return length;
}

std::size_t common_length(const Conversation& a, const Conversation& b) {
  const auto is_same = [](const Message& x, const Message& y) {
    return x.role == y.role && x.content == y.content && x.fields == y.fields;
  };
  std::size_t length = 0;
  while (length + 1 < std::min(a.messages.size(), b.messages.size()) && is_same(a.messages[length], b.messages[length]))
    ++length;
  return length;
}

/// Texts that carry their prompt are taken as they are, without a template.
PiecePair whole_texts(const std::string& chosen, const std::string& rejected) {
  const std::size_t prompt = common_length(chosen, rejected);
  const auto pieces = [&](const std::string& text) {
    return Pieces{{text.substr(0, prompt), false, false}, {text.substr(prompt), true, true}};
  };
  return {pieces(chosen), pieces(rejected)};
}

/// Lists of messages that carry their prompt.
PiecePair whole_conversations(Conversation chosen, Conversation rejected, const PromptTemplate& prompt_template) {
  const std::size_t prompt = common_length(chosen, rejected);
  for (Conversation* half : {&chosen, &rejected})
    for (std::size_t i = 0; i < prompt; ++i)
      half->messages[i].is_trained = false;
  return {render(prompt_template, chosen), render(prompt_template, rejected)};
}

bool carries_prompt(const json& answer, const std::string& what) {
  return answer.is_array() && read_messages(answer, what).messages.front().role != "assistant";
}

/// The prompt of a record with a member of its own for it.
std::optional<Conversation> read_prompt(const json& record, const std::string& what) {
  Conversation prompt;
  const json* value = optional_member(record, "prompt");
  if (value && value->is_array()) {
    prompt = read_messages(*value, what);
  } else if (value) {
    prompt.add({"user", text_member(record, "prompt", what)});
  } else if (optional_member(record, "question")) {
    prompt.add({"user", text_member(record, "question", what)});
  } else if (optional_member(record, "conversations") || optional_member(record, "messages")) {
    prompt = read_conversation(record, what);
  } else {
    return std::nullopt;
  }
  prompt.mask_prompt();
  return prompt;
}

}  // namespace

PiecePair preference_pieces(const json& record, const PromptTemplate& prompt_template, const std::string& what) {
  const json& chosen = member(record, "chosen", what);
  const json& rejected = member(record, "rejected", what);
  const bool are_texts = chosen.is_string() && rejected.is_string();
  if (are_texts && optional_member(record, "instruction")) {
    const auto pieces = [&](const json& answer) {
      json turn = record;
      turn["output"] = answer;
      return alpaca_pieces(turn, prompt_template, what);
    };
    return {pieces(chosen), pieces(rejected)};
  }
  if (are_texts && optional_member(record, "prompt") && record["prompt"].is_string()) {
    const auto pieces = [&](const json& answer) {
      return completion_pieces({{"prompt", record["prompt"]}, {"completion", answer}}, prompt_template, what);
    };
    return {pieces(chosen), pieces(rejected)};
  }
  if (carries_prompt(chosen, what) && carries_prompt(rejected, what))
    return whole_conversations(read_answer(chosen, what), read_answer(rejected, what), prompt_template);
  std::optional<Conversation> prompt = read_prompt(record, what);
  if (!prompt && are_texts) return whole_texts(chosen.get<std::string>(), rejected.get<std::string>());
  if (!prompt)
    throw DataError(fmt::format("{} has no prompt", what), "and its answers do not begin with one",
                    "Give it \"prompt\", \"conversations\" or \"instruction\".");
  const auto pieces = [&](const json& answer) {
    Conversation all = *prompt;
    all.append(read_answer(answer, what));
    return render(prompt_template, all);
  };
  return {pieces(chosen), pieces(rejected)};
}

}  // namespace multicard
