#include "text/prompts/PromptTemplate.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "text/jinja/PythonText.hpp"
#include "text/prompts/ChatTemplate.hpp"
#include "text/prompts/PromptFormat.hpp"

namespace multicard {

namespace {

const char* const kAssistant = "assistant";
const char* const kSystem = "system";

/// Collects pieces; what is not a target runs together into one.
class PieceList {
 public:
  void add_context(std::string_view text) {
    if (text.empty()) return;
    if (pieces_.empty() || pieces_.back().is_target) pieces_.emplace_back();
    pieces_.back().text += text;
  }
  void add_target(std::string text, bool ends_with_eos) { pieces_.push_back({std::move(text), true, ends_with_eos}); }
  std::vector<TextPiece> release() { return std::move(pieces_); }

 private:
  std::vector<TextPiece> pieces_;
};

const RoleFormat& role_format(const PromptFormat& format, const std::string& role) {
  const auto found = format.roles.find(role);
  if (found != format.roles.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, unused] : format.roles)
    known.push_back(name);
  throw DataError(fmt::format("template {} has no role \"{}\"", format.name, role),
                  fmt::format("it knows {}", join(known, ", ")));
}

/// The messages with the system message that the template puts in front by itself.
std::vector<Message> completed(const PromptFormat& format, std::span<const Message> messages) {
  std::vector<Message> all(messages.begin(), messages.end());
  const bool has_system = !all.empty() && all.front().role == kSystem;
  if (!has_system && !(format.default_system.empty() && format.system_prefix.empty()))
    all.insert(all.begin(), {kSystem, format.default_system});
  return all;
}

void add_message(PieceList& pieces, const PromptFormat& format, const Message& message) {
  const RoleFormat& role = role_format(format, message.role);
  const std::string content(format.trims ? python_strip(message.content) : std::string_view(message.content));
  pieces.add_context(role.before);
  if (message.role == kAssistant && message.is_trained) {
    pieces.add_target(content + role.end, format.needs_eos);
  } else {
    pieces.add_context(content + role.end);
  }
  pieces.add_context(role.after);
}

/// A conversation as the formats know it.
bool is_plain(const Prompt& prompt) {
  return prompt.tools.empty() && prompt.documents.empty() &&
         std::all_of(prompt.messages.begin(), prompt.messages.end(), [](const Message& message) {
           return message.fields.empty() && message.given_role.empty() &&
                  (message.role == "user" || message.role == kAssistant || message.role == kSystem);
         });
}

/// Conversations that tell the known formats from each other and from formats that are nearly theirs: with and without
/// system message and answer, contents with white space around them and without any, a later system message, and
/// answers with the reasoning that some models' templates cut away.
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

/// The text with its targets marked.
std::string marked(const std::vector<TextPiece>& pieces) {
  std::string text;
  for (const TextPiece& piece : pieces)
    text += piece.is_target ? "\x01" + piece.text + "\x02" : piece.text;
  return text;
}

bool renders_alike(const PromptTemplate& own, const PromptTemplate& known) {
  for (const std::vector<Message>& messages : probes())
    for (const Turn end : {Turn::open, Turn::closed})
      if (marked(own.conversation(messages, end)) != marked(known.conversation(messages, end))) return false;
  return true;
}

}  // namespace

PromptTemplate PromptTemplate::named(const std::string& name) {
  std::vector<std::string> names;
  for (const PromptFormat& format : prompt_formats()) {
    if (format.name == name) return PromptTemplate(&format, nullptr);
    names.push_back(format.name);
  }
  if (auto known = ChatTemplate::known(name)) return PromptTemplate(nullptr, std::move(known));
  const std::vector<std::string> more = ChatTemplate::known_names();
  names.insert(names.end(), more.begin(), more.end());
  throw UsageError(fmt::format("there is no template \"{}\"", name), fmt::format("there are {}", join(names, ", ")));
}

std::optional<PromptTemplate> PromptTemplate::of_folder(const std::string& folder, const TemplateDate& date) {
  const std::shared_ptr<const ChatTemplate> chat_template = ChatTemplate::of_folder(folder, date);
  if (!chat_template) return std::nullopt;
  const PromptTemplate own(nullptr, chat_template);
  for (const PromptFormat& format : prompt_formats())
    try {
      if (!format.needs_eos && renders_alike(own, PromptTemplate(&format, nullptr)))
        return PromptTemplate(&format, chat_template);
    } catch (const DataError&) {
      break;  // it objects to some conversations, which no format does
    }
  return own;
}

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

const std::string& PromptTemplate::name() const {
  return format_ ? format_->name : chat_template_->name();
}

std::vector<TextPiece> PromptTemplate::instruction(std::string_view instruction, std::string_view input,
                                                   std::string_view output, std::string_view system) const {
  std::vector<Message> messages;
  if (!system.empty()) {
    messages.push_back({kSystem, std::string(system)});
  } else if (!input.empty() && format_ && !format_->default_system_with_input.empty()) {
    messages.push_back({kSystem, format_->default_system_with_input});
  }
  std::string question(instruction);
  if (!input.empty()) question.append(format_ ? format_->input_intro : "\n").append(input);
  messages.push_back({"user", std::move(question)});
  messages.push_back({kAssistant, std::string(output)});
  return conversation(messages, Turn::closed);
}

std::vector<TextPiece> PromptTemplate::conversation(const Prompt& prompt, Turn end) const {
  if (format_ && (!chat_template_ || is_plain(prompt))) {
    std::vector<TextPiece> pieces = formatted(prompt.messages, end);
    if (chat_template_ && !pieces.empty()) pieces.front().is_begin = true;
    return pieces;
  }
  try {
    return chat_template_->pieces(prompt, end);
  } catch (const JinjaError& error) {
    const std::string& folder = chat_template_->folder();
    throw DataError(folder.empty() ? fmt::format("template {} does not render it", name())
                                   : fmt::format("the chat template of {} does not render it", folder),
                    error.what(), "Name another template: --template NAME.");
  }
}

std::vector<TextPiece> PromptTemplate::formatted(std::span<const Message> messages, Turn end) const {
  PieceList pieces;
  pieces.add_context(format_->begin);
  std::vector<Message> all = completed(*format_, messages);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) pieces.add_context(format_->separator);
    if (i == 0 && !format_->system_prefix.empty())
      all[i].content = format_->system_prefix + std::string(python_strip(all[i].content));
    if (i == 0 && !format_->system_prefix.empty()) {
      const RoleFormat& role = role_format(*format_, kSystem);
      pieces.add_context(role.before + all[i].content + role.end + role.after);
    } else {
      add_message(pieces, *format_, all[i]);
    }
  }
  if (end == Turn::open) {
    if (!all.empty()) pieces.add_context(format_->separator);
    pieces.add_context(role_format(*format_, kAssistant).before);
  }
  std::vector<TextPiece> list = pieces.release();
  for (std::size_t i = 1; i < list.size() && !format_->needs_eos; ++i)
    list[i].continues = true;  // as the chat templates' users tokenise the whole text
  return list;
}

bool PromptTemplate::uses(std::string_view word) const {
  return chat_template_ && chat_template_->mentions(word);
}

void PromptTemplate::require_use_of(const std::string& date) const {
  if (!date.empty() && !uses("strftime_now"))
    throw UsageError("--date has no effect", fmt::format("the template {} does not ask for the date", name()),
                     "Leave --date out, or name the chat template of a folder that asks: --template chat_template.");
}

bool PromptTemplate::completion_needs_eos() const {
  return format_ && format_->needs_eos;
}

bool PromptTemplate::is_own() const {
  return chat_template_ && !chat_template_->folder().empty();
}

std::vector<std::string> PromptTemplate::ends_of_turn() const {
  std::vector<std::string> ends;
  const TurnEnds own = format_ ? TurnEnds{format_->roles.at(kAssistant).end, ""} : chat_template_->turn_ends();
  for (const std::string& end : {own.last, own.inner})
    if (!end.empty() && std::find(ends.begin(), ends.end(), end) == ends.end()) ends.push_back(end);
  return ends;
}

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
