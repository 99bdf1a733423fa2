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
PiecePair whole_texts(const json& record, const std::string& what) {
  refuse_context(record, what);
  const auto chosen = record["chosen"].get<std::string>(), rejected = record["rejected"].get<std::string>();
  const std::size_t prompt = common_length(chosen, rejected);
  if (prompt == 0)
    throw DataError(fmt::format("{} has no prompt", what), "and its two answers do not begin with the same text",
                    "Give it \"prompt\", or name the field that holds it: --map prompt=THEIRS.");
  if (is_given(optional_member(record, "system")))
    throw DataError(fmt::format("{} has \"system\"", what),
                    "its answers carry their prompt as text, in which it has no place",
                    "Write it into the texts, or give the prompt in \"prompt\".");
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

/// The first messages of an answer that carries its prompt: up to the last that is not the assistant's.
Conversation prompt_within(const Conversation& answer) {
  Conversation prompt = answer;
  while (!prompt.messages.empty() && prompt.messages.back().role == "assistant")
    prompt.messages.pop_back();
  return prompt;
}

/// The text of a prompt that is one: of `instruction` with `input`, or of the only other member that may hold one.
std::optional<std::string> prompt_text(const json& record, const std::string& what) {
  if (optional_member(record, "instruction")) {
    const std::string instruction = text_member(record, "instruction", what);
    const bool has_input = is_given(optional_member(record, "input"));
    return has_input ? instruction + "\n" + text_member(record, "input", what) : instruction;
  }
  for (const char* name : {"prompt", "question", "query", "input"})
    if (is_given(optional_member(record, name))) return text_member(record, name, what);
  return std::nullopt;
}

/// \throws DataError where two members hold different prompts: which of them others train on is not to be guessed
void require_one_prompt(const json& record, const std::string& what) {
  const char* first = nullptr;
  for (const char* name : {"prompt", "instruction", "question", "query"}) {
    const json* value = optional_member(record, name);
    if (!is_given(value) || !value->is_string()) continue;
    if (first && record[first] != *value)
      throw DataError(fmt::format("{} has two prompts, \"{}\" and \"{}\"", what, first, name), "",
                      fmt::format("Rename the one that is not meant: --map unused={}.", name));
    first = name;
  }
}

/// The prompt of a record with a member of its own for it, without what read_setting() finds.
std::optional<Conversation> read_prompt(const json& record, const std::string& what) {
  Conversation prompt;
  const json* value = optional_member(record, "prompt");
  if (value && value->is_array()) {
    prompt = read_messages(*value, what);
  } else if (const std::optional<std::string> text = prompt_text(record, what)) {
    prompt.add({"user", *text});
  } else if (optional_member(record, "conversations") || optional_member(record, "messages")) {
    prompt = read_conversation(record, what);
  } else {
    return std::nullopt;
  }
  prompt.mask_prompt();
  return prompt;
}

bool is_same_prompt(const Conversation& a, const Conversation& b) {
  const auto is_same = [](const Message& x, const Message& y) { return x.role == y.role && x.content == y.content; };
  const auto begin = [](const Conversation& one) {
    return one.messages.begin() + (one.messages.front().role == "system" ? 1 : 0);
  };
  return !a.messages.empty() && !b.messages.empty() &&
         std::equal(begin(a), a.messages.end(), begin(b), b.messages.end(), is_same);
}

/// A pair of which one half carries the prompt: it is the other's too.
Conversation carried_prompt(const Conversation& half, const json& record, const std::string& what) {
  Conversation carried = prompt_within(half);
  const std::optional<Conversation> own = read_prompt(record, what);
  if (own && !is_same_prompt(*own, carried))
    throw DataError(fmt::format("{} has two prompts", what), "one of its answers begins with another one than its own");
  carried.mask_prompt();
  return carried;
}

/// `before` and one of the two answers.
Pieces answered(const Conversation& before, const Conversation& answer, const PromptTemplate& prompt_template) {
  Conversation all = before;
  all.append(answer);
  return render(prompt_template, all);
}

/// Lists of messages of which at least one carries its prompt.
PiecePair pair_with_prompt_inside(const json& record, const PromptTemplate& prompt_template, const std::string& what) {
  const Conversation setting = read_setting(record, what);
  Conversation chosen = read_answer(record["chosen"], what), rejected = read_answer(record["rejected"], what);
  const bool in_chosen = carries_prompt(record["chosen"], what), in_rejected = carries_prompt(record["rejected"], what);
  if (in_chosen && in_rejected) {
    if (common_length(chosen, rejected) == 0)
      throw DataError(fmt::format("the answers of {} begin with different prompts", what));
    return whole_conversations(joined(setting, chosen, what), joined(setting, rejected, what), prompt_template);
  }
  const Conversation prompt = carried_prompt(in_chosen ? chosen : rejected, record, what);
  std::vector<Message>& carrier = (in_chosen ? chosen : rejected).messages;
  carrier.erase(carrier.begin(), carrier.begin() + static_cast<std::ptrdiff_t>(prompt.messages.size()));
  const Conversation before = joined(setting, prompt, what);
  return {answered(before, chosen, prompt_template), answered(before, rejected, prompt_template)};
}

/// Two texts after a prompt that is a text, as records of another type.
PiecePair pair_of_texts(const json& record, const PromptTemplate& prompt_template, const std::string& what) {
  const bool is_instruction = optional_member(record, "instruction") != nullptr;
  const auto pieces = [&](const char* half) {
    json turn = record;
    turn[is_instruction ? "output" : "completion"] = record[half];
    if (is_instruction) return alpaca_pieces(turn, prompt_template, what);
    turn["prompt"] = *prompt_text(record, what);
    return completion_pieces(turn, prompt_template, what);
  };
  return {pieces("chosen"), pieces("rejected")};
}

}  // namespace

PiecePair preference_pieces(const json& record, const PromptTemplate& prompt_template, const std::string& what) {
  const json& chosen = member(record, "chosen", what);
  const json& rejected = member(record, "rejected", what);
  require_one_prompt(record, what);
  const bool are_texts = chosen.is_string() && rejected.is_string();
  const json* own = optional_member(record, "prompt");
  if (are_texts && !(own && own->is_array()) && prompt_text(record, what))
    return pair_of_texts(record, prompt_template, what);
  if (carries_prompt(chosen, what) || carries_prompt(rejected, what))
    return pair_with_prompt_inside(record, prompt_template, what);
  const std::optional<Conversation> prompt = read_prompt(record, what);
  if (!prompt && are_texts) return whole_texts(record, what);
  if (!prompt)
    throw DataError(fmt::format("{} has no prompt", what), "and its answers do not begin with one",
                    "Give it \"prompt\", \"conversations\" or \"instruction\".");
  const Conversation before = joined(read_setting(record, what), *prompt, what);
  return {answered(before, read_answer(chosen, what), prompt_template),
          answered(before, read_answer(rejected, what), prompt_template)};
}

}  // namespace multicard
