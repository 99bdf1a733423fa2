#include "text/PromptTemplate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "text/PromptFormat.hpp"

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
  const std::string content(format.trims ? trimmed(message.content) : std::string_view(message.content));
  pieces.add_context(role.before);
  if (message.role == kAssistant) {
    pieces.add_target(content + role.end, format.needs_eos);
  } else {
    pieces.add_context(content + role.end);
  }
  pieces.add_context(role.after);
}

}  // namespace

PromptTemplate PromptTemplate::named(const std::string& name) {
  std::vector<std::string> names;
  for (const PromptFormat& format : prompt_formats()) {
    if (format.name == name) return PromptTemplate(format);
    names.push_back(format.name);
  }
  throw UsageError(fmt::format("there is no template \"{}\"", name), fmt::format("there are {}", join(names, ", ")));
}

const std::string& PromptTemplate::name() const {
  return format_->name;
}

std::vector<TextPiece> PromptTemplate::instruction(std::string_view instruction, std::string_view input,
                                                   std::string_view output, std::string_view system) const {
  std::vector<Message> messages;
  if (!system.empty()) {
    messages.push_back({kSystem, std::string(system)});
  } else if (!input.empty() && !format_->default_system_with_input.empty()) {
    messages.push_back({kSystem, format_->default_system_with_input});
  }
  std::string question(instruction);
  if (!input.empty()) question.append(format_->input_intro).append(input);
  messages.push_back({"user", std::move(question)});
  messages.push_back({kAssistant, std::string(output)});
  return conversation(messages, Turn::closed);
}

std::vector<TextPiece> PromptTemplate::conversation(std::span<const Message> messages, Turn end) const {
  PieceList pieces;
  pieces.add_context(format_->begin);
  std::vector<Message> all = completed(*format_, messages);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) pieces.add_context(format_->separator);
    if (i == 0 && !format_->system_prefix.empty())
      all[i].content = format_->system_prefix + std::string(trimmed(all[i].content));
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
  return pieces.release();
}

bool PromptTemplate::completion_needs_eos() const {
  return format_->needs_eos;
}

const std::string& PromptTemplate::end_of_turn() const {
  return format_->roles.at(kAssistant).end;
}

EncodedText encode_pieces(const Tokenizer& tokenizer, std::span<const TextPiece> pieces) {
  EncodedText row;
  const auto append = [&row](std::span<const TokenId> ids, bool is_target) {
    row.ids.insert(row.ids.end(), ids.begin(), ids.end());
    row.loss_mask.resize(row.ids.size(), is_target ? 1 : 0);
  };
  for (const TextPiece& piece : pieces) {
    append(tokenizer.encode(piece.text, SpecialTokens::leave_out), piece.is_target);
    if (!piece.ends_with_eos) continue;
    const std::optional<TokenId> eos = tokenizer.eos();
    if (!eos)
      throw DataError(fmt::format("the tokenizer {} names no end-of-text token", tokenizer.path()),
                      "the template ends every answer with it",
                      "Give the model's folder instead of the tokenizer's file, or another template.");
    append({&*eos, 1}, piece.is_target);
  }
  const std::optional<TokenId> bos = tokenizer.bos();
  if (bos && tokenizer.adds_bos() && (row.ids.empty() || row.ids.front() != *bos)) {
    row.ids.insert(row.ids.begin(), *bos);
    row.loss_mask.insert(row.loss_mask.begin(), 0);
  }
  return row;
}

}  // namespace multicard
