#pragma once
/// \file Prompts as a language model has learnt to see them, and its answers.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/Llama.hpp"
#include "text/PromptTemplate.hpp"

namespace multicard {

/// Between texts and the tokens of one model folder.
class Prompter {
 public:
  /// \param template_name of the training data; empty: the folder's own, if it has one
  /// \param date that the template writes, if it writes one, YYYY-MM-DD; empty: its default
  /// \throws DataError about the tokenizer and the folder's template, UsageError for a template that does not exist and
  /// for an invalid date
  Prompter(const std::string& folder, const std::string& template_name, const std::string& date = "");
  /// Without a template.
  explicit Prompter(const std::string& folder);

  const std::optional<PromptTemplate>& prompt_template() const { return template_; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  /// The prompt as one instruction, up to where its answer begins; without a template as it is.
  std::vector<TokenId> encode(const std::string& prompt) const;
  /// The prompt as it is.
  std::vector<TokenId> encode_raw(const std::string& prompt) const;
  /// Tokens that end an answer: those of the tokenizer's folder, and the template's end of a turn.
  std::vector<std::int64_t> end_ids() const;

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::optional<PromptTemplate> template_;
};

/// UsageError when nothing is to be continued, or when prompt and `max_new` tokens need more positions than the model
/// has. \param what the prompt, in words \param key what limits the new tokens
void check_room(const std::vector<TokenId>& prompt, const LlamaConfig& config, std::int64_t max_new,
                const std::string& what, const std::string& key);

/// The greedy completion of `prompt`, at most `max_new` tokens. The network must be in Mode::evaluate.
std::string answer(Llama& network, const Prompter& prompter, const std::vector<TokenId>& prompt, std::int64_t max_new);

}  // namespace multicard
