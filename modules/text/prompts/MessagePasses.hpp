#pragma once
/// \file Where in the text of a conversation the template's loops have written each message.

#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/Jinja.hpp"

namespace multicard {

/// The range without white space at its end.
TextRange without_space_after(std::string_view text, const TextRange& range);

/// Most templates write a message in one pass of a loop over the messages, an answer after a header. Views of `whole`.
class MessagePasses {
 public:
  MessagePasses(const std::vector<JinjaValue>& messages, const JinjaOutput& whole);

  /// What the message's pass writes before the answer; nothing where the answer does not stand in one pass.
  std::optional<std::string_view> header_of(std::size_t message, const TextRange& answer) const;
  /// What follows the header in the message's pass, without white space at the end.
  std::optional<TextRange> answer_in(std::size_t message, std::string_view header) const;

 private:
  bool is_whole(std::size_t message) const;
  bool is_before(std::size_t message, std::size_t next) const;

  std::string_view text_;
  std::vector<TextRange> passes_;  ///< by message
  std::vector<int> counts_;        ///< of passes over it that wrote something
};

}  // namespace multicard
