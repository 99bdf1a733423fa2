#pragma once
/// \file How an instruction or a conversation becomes text, and which part of it is to be learnt.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/TemplateDate.hpp"
#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {

/// The names under which data sets keep a message's reasoning; templates read the first or the second.
inline constexpr std::array kReasoningNames{"reasoning_content", "thinking", "reasoning"};

struct Message {
  std::string role;  ///< system, user, assistant; some templates also know tool
  std::string content;
  std::string fields = {};      ///< further members (tool_calls, name, reasoning_content, ...), a JSON object
  std::string given_role = {};  ///< as the data set spells it, where that differs
  bool has_content = true;      ///< false: none was given, as with tool calls
  bool is_trained = true;       ///< if it is an answer
};

/// A conversation and what else chat templates read.
struct Prompt {
  std::span<const Message> messages;
  std::string_view tools = {};      ///< JSON; empty: none
  std::string_view documents = {};  ///< JSON; empty: none
};

/// A part of a text. Pieces are tokenised one by one and joined.
struct TextPiece {
  std::string text;
  bool is_target = false;      ///< its tokens are to be predicted
  bool ends_with_eos = false;  ///< the tokenizer's EOS follows it and counts as a part of it
  bool continues = false;      ///< it is tokenised together with the piece before it
  bool is_begin = false;       ///< the text begins here with all that belongs there: no BOS comes in front
};

/// How a conversation ends: `closed` after the last message, `open` with the header of an answer to be generated.
enum class Turn { closed, open };

struct KnownTemplate;
class ChatTemplate;

/// A way to write prompts. Cheap to copy.
class PromptTemplate {
 public:
  /// The name of templates that are none of the known ones but the chat template of a model folder.
  static constexpr const char* kOwn = "chat_template";

  /// One of the known templates (docs/tokenizers.md); a UsageError naming them for anything else.
  static PromptTemplate named(const std::string& name);
  /// The chat template of a model folder, nothing where it has none. It has the name of a known one when it renders
  /// plain conversations as that does, else kOwn. \throws DataError when it cannot be used
  static std::optional<PromptTemplate> of_folder(const std::string& folder, const TemplateDate& date = {});
  /// What `name` means for a model folder: its own template for its name and for kOwn, else the known one.
  /// \throws DataError for kOwn where the folder has none
  static PromptTemplate resolve(const std::string& name, const std::string& folder, const TemplateDate& date = {});

  std::string name() const;
  /// One turn. The output is a target, with what ends it. `input` and `system` may be empty.
  std::vector<TextPiece> instruction(std::string_view instruction, std::string_view input, std::string_view output,
                                     std::string_view system = {}) const;
  /// All messages as the model's own chat template renders them; every assistant message that is trained is a target,
  /// with what ends it (docs/tokenizers.md). A role that the template does not know, or one at which it raises an
  /// exception, is a DataError.
  std::vector<TextPiece> conversation(const Prompt& prompt, Turn end) const;
  std::vector<TextPiece> conversation(std::span<const Message> messages, Turn end) const {
    return conversation(Prompt{messages}, end);
  }
  /// Whether the template makes use of a member of messages or a variable ("tools", "reasoning_content").
  bool uses(std::string_view name) const;
  /// \throws UsageError when it does not write the date that --date asks for; an empty one asks for nothing
  void require_use_of(const std::string& date) const;
  /// Whether a completion ends with the tokenizer's EOS (alpaca, plain) and not with a text of the template. The pieces
  /// above are marked accordingly.
  bool completion_needs_eos() const;
  /// "<|eot_id|>", "<|im_end|>" or nothing; two where the last answer of a conversation ends in another way.
  std::vector<std::string> ends_of_turn() const;
  /// Whether it is a folder's own chat template.
  bool is_own() const;

 private:
  PromptTemplate(const KnownTemplate* known, std::shared_ptr<const ChatTemplate> chat_template)
      : known_(known), chat_template_(std::move(chat_template)) {}

  const KnownTemplate* known_;  ///< null: none of them
  std::shared_ptr<const ChatTemplate> chat_template_;
};

/// The tokens of a row and which of them are targets (1), of equal length.
struct EncodedText {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> loss_mask;
};

/// Tokenises the pieces one by one, or together with those that continue them, and joins them; a token that has a
/// character of a target is a target. BOS comes first, once, if the tokenizer adds it and the first piece is not marked
/// as the beginning. A piece that needs an EOS which the tokenizer does not have is a DataError.
EncodedText encode_pieces(const Tokenizer& tokenizer, std::span<const TextPiece> pieces);

}  // namespace multicard
