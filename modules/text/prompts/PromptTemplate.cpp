#include "text/prompts/PromptTemplate.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "text/prompts/ChatTemplate.hpp"
#include "text/prompts/KnownTemplates.hpp"

namespace multicard {

namespace {

/// Conversations in which the known templates differ from each other and from those that are nearly the same: with and
/// without system message and answer, contents with white space around them and without any, a later system message,
/// and answers with the reasoning that some models' templates cut away.
std::vector<std::vector<Message>> probes() {
  const Message system{"system", " You are\n terse.  "}, user{"user", "  What is <b>1 + 1</b>?\n"},
      assistant{"assistant", "\n It is two. "}, thanks{"user", "Thanks 'a' \"lot\" \u4e2d"}, bye{"assistant", "Bye"},
      later{"system", "Be verbose."}, no_system{"system", ""}, no_question{"user", ""}, no_answer{"assistant", ""},
      thought{"assistant", "<think>\nOne, two.\n</think>\n\nTwo."}, second{"assistant", "One.</think>Two."};
  return {{user},
          {system, user},
          {user, assistant},
          {system, user, assistant},
          {user, assistant, thanks},
          {system, user, assistant, thanks, bye},
          {no_question, assistant},
          {no_system, user, no_answer, no_question, bye},
          {user, assistant, later, thanks, bye},
          {system, user, later, assistant},
          {user, user, assistant, assistant},
          {assistant, user, bye},
          {user, thought},
          {user, thought, thanks, second}};
}

/// The texts of all probes, their targets marked.
std::vector<std::string> marked_probes(const ChatTemplate& chat_template) {
  std::vector<std::string> texts;
  for (const std::vector<Message>& messages : probes())
    for (const Turn end : {Turn::open, Turn::closed}) {
      std::string& text = texts.emplace_back();
      for (const TextPiece& piece : chat_template.pieces({messages}, end))
        text += piece.is_target ? "\x01" + piece.text + "\x02" : piece.text;
    }
  return texts;
}

/// The known template that renders plain conversations alike, null where there is none.
const KnownTemplate* find_alike(const ChatTemplate& own) {
  // Targets are compared with the texts: two templates may write the same and differ in what they let a model learn.
  // One that refuses a single probe (roles must alternate) is no known one by text.
  try {
    const std::vector<std::string> texts = marked_probes(own);
    for (const KnownTemplate& known : known_templates())
      if (known.match == KnownTemplate::Match::by_text && texts == marked_probes(ChatTemplate(known))) return &known;
  } catch (const JinjaError&) {
    // It objects to some conversations, which none of these do.
  }
  return nullptr;
}

}  // namespace

PromptTemplate PromptTemplate::named(const std::string& name) {
  std::vector<std::string> names;
  for (const KnownTemplate& known : known_templates()) {
    if (name == known.name) return PromptTemplate(&known, std::make_shared<const ChatTemplate>(known));
    names.emplace_back(known.name);
  }
  throw UsageError(fmt::format("there is no template \"{}\"", name), fmt::format("there are {}", join(names, ", ")));
}

std::optional<PromptTemplate> PromptTemplate::of_folder(const std::string& folder, const TemplateDate& date) {
  const std::shared_ptr<const ChatTemplate> own = ChatTemplate::of_folder(folder, date);
  if (!own) return std::nullopt;
  return PromptTemplate(find_alike(*own), own);
}

// A folder's template is taken for the known one of its name, since it renders plain conversations alike and may write
// tools, documents and reasoning besides, which the known ones cannot.
PromptTemplate PromptTemplate::resolve(const std::string& name, const std::string& folder, const TemplateDate& date) {
  std::error_code unused;
  if (name != kOwn && !std::filesystem::is_directory(folder, unused)) return named(name);
  try {
    const std::optional<PromptTemplate> own = of_folder(folder, date);
    if (own && (name == kOwn || own->name() == name)) return *own;
  } catch (const DataError&) {
    if (name == kOwn) throw;  // another template does not need the folder's
  }
  if (name == kOwn)
    throw DataError(fmt::format("{} has no chat template", folder), "the template of the model's folder was requested",
                    "Name a folder that has it, or another template.");
  return named(name);
}

std::string PromptTemplate::name() const {
  return known_ ? known_->name : kOwn;
}

std::vector<TextPiece> PromptTemplate::instruction(std::string_view instruction, std::string_view input,
                                                   std::string_view output, std::string_view system) const {
  std::vector<Message> messages;
  if (system.empty() && known_ && !input.empty()) system = known_->system_with_input;
  if (!system.empty()) messages.push_back({"system", std::string(system)});
  std::string question(instruction);
  if (!input.empty()) question.append(known_ ? known_->before_input : "\n").append(input);
  messages.push_back({"user", std::move(question)});
  messages.push_back({"assistant", std::string(output)});
  return conversation(messages, Turn::closed);
}

std::vector<TextPiece> PromptTemplate::conversation(const Prompt& prompt, Turn end) const {
  try {
    return chat_template_->pieces(prompt, end);
  } catch (const JinjaError& error) {
    const std::string& folder = chat_template_->folder();
    throw DataError(folder.empty() ? fmt::format("template {} does not render it", name())
                                   : fmt::format("the chat template of {} does not render it", folder),
                    error.what(), "Name another template: --template NAME.");
  }
}

bool PromptTemplate::uses(std::string_view word) const {
  return chat_template_->mentions(word);
}

void PromptTemplate::require_use_of(const std::string& date) const {
  if (!date.empty() && !uses("strftime_now"))
    throw UsageError("--date has no effect", fmt::format("the template {} does not ask for the date", name()),
                     "Leave --date out, or name the chat template of a folder that asks: --template chat_template.");
}

bool PromptTemplate::completion_needs_eos() const {
  return known_ && known_->ends_with_eos;
}

bool PromptTemplate::is_own() const {
  return !chat_template_->folder().empty();
}

// The last answer's marker comes first: it is what a generation is expected to end with.
std::vector<std::string> PromptTemplate::ends_of_turn() const {
  std::vector<std::string> ends;
  const TurnEnds& both = chat_template_->turn_ends();
  for (const std::string& end : {both.last, both.inner})
    if (!end.empty() && std::find(ends.begin(), ends.end(), end) == ends.end()) ends.push_back(end);
  return ends;
}

// A template's text that begins with the BOS gets no second one, whether the template wrote it or the tokenizer adds
// it: models trained with one lose much with two.
EncodedText encode_pieces(const Tokenizer& tokenizer, std::span<const TextPiece> pieces) {
  EncodedText row;
  for (std::size_t first = 0, next = 0; first < pieces.size(); first = next) {
    std::string text;
    std::vector<TextRange> targets;
    do {  // as far as pieces belong together
      if (pieces[next].is_target) targets.push_back({text.size(), text.size() + pieces[next].text.size()});
      text += pieces[next++].text;
    } while (next < pieces.size() && pieces[next].continues && !pieces[next - 1].ends_with_eos);
    const std::vector<TokenId> ids =
        tokenizer.encode(is_valid_utf8(text) ? text : repaired_utf8(text), targets, row.loss_mask);
    row.ids.insert(row.ids.end(), ids.begin(), ids.end());
    const TextPiece& last = pieces[next - 1];
    if (!last.ends_with_eos) continue;
    const std::optional<TokenId> eos = tokenizer.eos();
    if (!eos)
      throw DataError(fmt::format("the tokenizer {} names no end-of-text token", tokenizer.path()),
                      "the template ends every answer with it",
                      "Give the model's folder instead of the tokenizer's file, or another template.");
    row.ids.push_back(*eos);
    row.loss_mask.push_back(last.is_target ? 1 : 0);
  }
  const std::optional<TokenId> bos = tokenizer.bos();
  const bool is_complete = !pieces.empty() && pieces.front().is_begin;
  if (bos && !is_complete && tokenizer.adds_bos() && (row.ids.empty() || row.ids.front() != *bos)) {
    row.ids.insert(row.ids.begin(), *bos);
    row.loss_mask.insert(row.loss_mask.begin(), 0);
  }
  return row;
}

}  // namespace multicard
