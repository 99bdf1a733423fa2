#pragma once
/// \file How an instruction or a conversation becomes text, and which part of it is to be learnt.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/Tokenizer.hpp"

namespace multicard {

struct Message {
  std::string role;  ///< system, user, assistant; some templates also know tool
  std::string content;
};

/// A part of a text. Pieces are tokenised one by one and joined.
struct TextPiece {
  std::string text;
  bool is_target = false;      ///< its tokens are to be predicted
  bool ends_with_eos = false;  ///< the tokenizer's EOS follows it and counts as a part of it
};

/// How a conversation ends: `closed` after the last message, `open` with the header of an answer to be generated.
enum class Turn { closed, open };

struct PromptFormat;

/// A named way to write prompts. Cheap to copy.
class PromptTemplate {
 public:
  /// alpaca, chatml, llama3, llama3.1, plain, qwen2, qwen2.5 or smollm2; a UsageError naming them for anything else.
  static PromptTemplate named(const std::string& name);
  /// The template of a model folder, when its chat template renders conversations as a known one does. It is tried out
  /// on some conversations without tools, whatever its text.
  static std::optional<PromptTemplate> of_folder(const std::string& folder);
  /// Whether a model folder holds a chat template, known or not.
  static bool has_chat_template(const std::string& folder);

  const std::string& name() const;
  /// One turn. The output is a target, with what ends it. `input` and `system` may be empty.
  std::vector<TextPiece> instruction(std::string_view instruction, std::string_view input, std::string_view output,
                                     std::string_view system = {}) const;
  /// All messages as the model's own chat template renders them; every assistant message is a target, with what ends
  /// it. A role that the template does not know is a DataError.
  std::vector<TextPiece> conversation(std::span<const Message> messages, Turn end) const;
  /// Whether a completion ends with the tokenizer's EOS (alpaca, plain) and not with a text of the template. The pieces
  /// above are marked accordingly.
  bool completion_needs_eos() const;
  /// "<|eot_id|>", "<|im_end|>" or "".
  const std::string& end_of_turn() const;

 private:
  explicit PromptTemplate(const PromptFormat& format) : format_(&format) {}

  const PromptFormat* format_;
};

/// The tokens of a row and which of them are targets (1), of equal length.
struct EncodedText {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> loss_mask;
};

/// Tokenises the pieces one by one and joins them. BOS comes first, once, if the tokenizer adds it. A piece that needs
/// an EOS which the tokenizer does not have is a DataError.
EncodedText encode_pieces(const Tokenizer& tokenizer, std::span<const TextPiece> pieces);

}  // namespace multicard
