#pragma once
/// \file The text that a chat template makes of a conversation, and where in it the answers are.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/Jinja.hpp"
#include "text/prompts/MessagePasses.hpp"
#include "text/prompts/PromptTemplate.hpp"

namespace multicard {

/// What follows answers in the texts of a template; nothing where that is unknown.
struct AnswerEnds {
  std::string_view eos, of_turn;
};

/// A rendered conversation in which answers are searched for.
class ChatRendering {
 public:
  /// Renders the conversation; what is passed stays with the caller. \throws JinjaError
  ChatRendering(const JinjaTemplate& source, const JinjaTemplate::Variables& specials, const AnswerEnds& ends,
                const Prompt& prompt, Turn end);

  const std::string& text() const { return whole_.text; }
  /// Those that are trained, as ChatTemplate::pieces() explains. \throws JinjaError when one cannot be found
  std::vector<TextRange> answers() const;

 private:
  JinjaOutput render(std::vector<JinjaValue> some, Turn as) const;
  std::optional<std::string> first(std::size_t count, Turn as) const;
  std::optional<std::size_t> length_if_beginning(std::string_view text) const;
  std::string kind_of(std::size_t message) const;
  std::vector<TextRange> search(const std::vector<std::size_t>& answers) const;
  void locate(const std::vector<std::size_t>& members, const MessagePasses& passes,
              std::map<std::size_t, TextRange>& found) const;
  TextRange answer(std::size_t message) const;
  std::optional<TextRange> content_of(std::size_t message) const;
  std::optional<std::size_t> after_marker(std::size_t position) const;
  std::optional<std::size_t> end_of(std::size_t message, std::size_t begin,
                                    const std::optional<TextRange>& content) const;

  const JinjaTemplate& source_;
  AnswerEnds ends_;
  const Prompt& prompt_;
  Turn end_;
  std::vector<JinjaValue> messages_ = {};
  JinjaTemplate::Variables variables_;  ///< all but messages and add_generation_prompt
  JinjaOutput whole_ = {};
  mutable std::size_t work_ = 0;
};

}  // namespace multicard
