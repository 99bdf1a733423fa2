#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/JsonReader.hpp"
#include "prepare/records/Conversation.hpp"
#include "prepare/records/PreferencePrompt.hpp"
#include "prepare/records/RecordPieces.hpp"

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
  const bool differ = length < std::min(a.size(), b.size()) && a[length] != b[length];
  // Not within a character, and a space before the first difference belongs to the answer, as in TRL.
  while (length > 0 && (a[length] & 0xc0) == 0x80)
    --length;
  if (differ && length > 0 && a[length - 1] == ' ') --length;
  return length;
}

// At least one message is left to each side, which is the answer.
std::size_t common_length(const Conversation& a, const Conversation& b) {
  const auto is_same = [](const Message& x, const Message& y) {
    return x.role == y.role && x.content == y.content && x.fields == y.fields;
  };
  std::size_t length = 0;
  while (length + 1 < std::min(a.messages.size(), b.messages.size()) && is_same(a.messages[length], b.messages[length]))
    ++length;
  return length;
}

/// Two answers to a lost question may begin with the same words ("The answer is"); a question before them ends with a
/// line, a mark or the name of who speaks next.
bool holds_question(std::string_view text) {
  return text.find_first_of("\n:?>]") != std::string_view::npos;
}

/// Texts that carry their prompt are taken as they are, without a template.
PiecePair whole_texts(const json& record, const std::string& what) {
  refuse_context(record, what);
  const auto chosen = record["chosen"].get<std::string>(), rejected = record["rejected"].get<std::string>();
  const std::size_t prompt = common_length(chosen, rejected);
  if (!holds_question(chosen.substr(0, prompt)))
    throw DataError(fmt::format("{} has no prompt", what),
                    prompt == 0 ? "and its two answers do not begin with the same text"
                                : "and what its two answers begin with does not look like one",
                    "Give it \"prompt\", or name the field that holds it: --map prompt=THEIRS.");
  if (is_given(optional_member(record, "system")))
    throw DataError(fmt::format("{} has \"system\"", what),
                    "its answers carry their prompt as text, in which it has no place",
                    "Write it into the texts, or give the prompt in \"prompt\".");
  const auto pieces = [&](const std::string& text) {
    return Pieces{{text.substr(0, prompt), false, false}, {text.substr(prompt), true, true, true}};
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

/// A pair of which one half carries the prompt: it is the other's too.
Conversation carried_prompt(const Conversation& half, const PreferencePrompt& own) {
  Conversation carried = prompt_within(half);
  own.require_same_as(carried);
  carried.mask_prompt();
  return carried;
}

/// `before` and one of the two answers.
Pieces answered(const Conversation& before, const Conversation& answer, const PromptTemplate& prompt_template) {
  Conversation all = before;
  all.append(answer);
  return render(prompt_template, all);
}

/// Lists of messages of which at least one carries its prompt. What both have in common at the beginning is the prompt,
/// also where it contains the assistant's turns; where only one half has a prompt, all up to its last message that is
/// not the assistant's is.
PiecePair pair_with_prompt_inside(const json& record, const PreferencePrompt& own,
                                  const PromptTemplate& prompt_template, const std::string& what) {
  const Conversation setting = read_setting(record, what);
  Conversation chosen = read_answer(record["chosen"], what), rejected = read_answer(record["rejected"], what);
  const bool in_chosen = carries_prompt(record["chosen"], what), in_rejected = carries_prompt(record["rejected"], what);
  if (in_chosen && in_rejected) {
    Conversation common = chosen;
    common.messages.resize(common_length(chosen, rejected));
    if (common.messages.empty()) throw DataError(fmt::format("the answers of {} begin with different prompts", what));
    own.require_same_as(common);
    return whole_conversations(joined(setting, chosen, what), joined(setting, rejected, what), prompt_template);
  }
  const Conversation prompt = carried_prompt(in_chosen ? chosen : rejected, own);
  std::vector<Message>& carrier = (in_chosen ? chosen : rejected).messages;
  carrier.erase(carrier.begin(), carrier.begin() + static_cast<std::ptrdiff_t>(prompt.messages.size()));
  const Conversation before = joined(setting, prompt, what);
  return {answered(before, chosen, prompt_template), answered(before, rejected, prompt_template)};
}

/// The outputs of a history belong to the prompt: only the pieces of the last answer stay targets.
void keep_last_target(Pieces& pieces) {
  const auto is_target = [](const TextPiece& piece) { return piece.is_target; };
  const auto answer_end = std::find_if(pieces.rbegin(), pieces.rend(), is_target);
  for (auto piece = std::find_if_not(answer_end, pieces.rend(), is_target); piece != pieces.rend(); ++piece)
    piece->is_target = false;
}

/// Two texts after a prompt that is a text, as records of another type.
PiecePair pair_of_texts(const json& record, const PreferencePrompt& prompt, const PromptTemplate& prompt_template,
                        const std::string& what) {
  const auto pieces = [&](const char* half) {
    json turn = record;
    turn[prompt.is_instruction() ? "output" : "completion"] = record[half];
    turn["prompt"] = prompt.text();
    Pieces all = prompt.is_instruction() ? alpaca_pieces(turn, prompt_template, what)
                                         : completion_pieces(turn, prompt_template, what);
    keep_last_target(all);
    return all;
  };
  return {pieces("chosen"), pieces("rejected")};
}

}  // namespace

// The forms in which TRL and the common data sets give a pair, from the clearest to the one that needs guessing: texts
// with a prompt, messages with the prompt inside, a prompt of its own, and last two whole texts that begin alike.
PiecePair preference_pieces(const json& record, const PromptTemplate& prompt_template, const std::string& what) {
  const json& chosen = member(record, "chosen", what);
  const json& rejected = member(record, "rejected", what);
  const PreferencePrompt prompt(record, what);
  const bool are_texts = chosen.is_string() && rejected.is_string();
  if (are_texts && prompt.is_text()) return pair_of_texts(record, prompt, prompt_template, what);
  if (carries_prompt(chosen, what) || carries_prompt(rejected, what))
    return pair_with_prompt_inside(record, prompt, prompt_template, what);
  const std::optional<Conversation> asked = prompt.messages();
  if (!asked && are_texts) return whole_texts(record, what);
  if (!asked)
    throw DataError(fmt::format("{} has no prompt", what), "and its answers do not begin with one",
                    "Give it \"prompt\", \"conversations\" or \"instruction\".");
  const Conversation before = joined(read_setting(record, what), *asked, what);
  return {answered(before, read_answer(chosen, what), prompt_template),
          answered(before, read_answer(rejected, what), prompt_template)};
}

}  // namespace multicard
