#pragma once
/// \file Prompt templates in Jinja: the chat template of a model folder, and known ones.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/Jinja.hpp"
#include "text/prompts/ChatRendering.hpp"
#include "text/prompts/ChatTemplateFiles.hpp"
#include "text/prompts/KnownTemplates.hpp"
#include "text/prompts/PromptTemplate.hpp"
#include "text/prompts/TurnEnds.hpp"

namespace multicard {

/// Renders conversations as transformers' apply_chat_template does, and finds the answers in the text.
class ChatTemplate {
 public:
  /// Null where the folder has none. \throws DataError when it cannot be parsed
  static std::shared_ptr<const ChatTemplate> of_folder(const std::string& folder, const TemplateDate& date);

  explicit ChatTemplate(const KnownTemplate& known);

  /// The text with the answers that are trained as targets. They are what stands in {% generation %} blocks if the
  /// template has any; else what an answer adds to the text of the messages before it with a generation prompt, as far
  /// as these are beginnings of the whole text, without white space at the end. Where a template writes earlier answers
  /// in another way than the last one, they are found by rendering the conversation with another content in their place
  /// (docs/tokenizers.md). \throws JinjaError, also when an answer cannot be found
  std::vector<TextPiece> pieces(const Prompt& prompt, Turn end) const;
  /// Whether the template has this name, attribute or string.
  bool mentions(std::string_view word) const;
  /// What follows an answer's content.
  const TurnEnds& turn_ends() const { return turn_ends_; }
  /// Nothing for a known template.
  const std::string& folder() const { return folder_; }

 private:
  ChatTemplate(std::string folder, std::string_view source, const TemplateSpecials& specials,
               const TemplateDate& date = {});

  ChatRendering prepare(const Prompt& prompt, Turn end) const;
  void find_turn_ends();

  std::string folder_;
  JinjaTemplate template_;
  std::unique_ptr<const JinjaTemplate> tool_template_;  ///< for conversations with tools; null: the same
  JinjaTemplate::Variables specials_;                   ///< bos_token and so on
  std::string eos_;
  bool ends_with_eos_ = false;  ///< answers end with the tokenizer's EOS
  TurnEnds turn_ends_;
};

}  // namespace multicard
