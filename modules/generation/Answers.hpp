#pragma once
/// \file Prompts, encoded as a language model was trained on them, and its answers.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generation/AnswerMemory.hpp"
#include "nn/language/Generate.hpp"
#include "text/prompts/PromptTemplate.hpp"

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

/// \throws UsageError when nothing is to be continued, or when prompt and `max_new` tokens need more positions than the
/// model has; DataError for a token that the model has no embedding of. \param what the prompt, in words \param key
/// what limits the new tokens
void check_prompt(const std::vector<TokenId>& prompt, const LlamaConfig& config, std::int64_t max_new,
                  const std::string& what, const std::string& key);

using EncodedPrompts = std::vector<std::vector<TokenId>>;

struct AnswerOptions {
  GenerateOptions generate;        ///< its ends are added to the prompter's
  std::vector<std::string> stops;  ///< an answer ends where one of them occurs in its text
};

struct Answer {
  std::vector<std::int64_t> ids;  ///< all that were drawn, also those of a stop string, without the end token
  std::string text;               ///< up to the stop string
  Finish finish = Finish::length;
};

/// Takes more text of the answer to a prompt, by the prompt's number.
using ShowText = std::function<void(std::size_t, const std::string&)>;

/// The answer to each of `prompts`. The network must be in Mode::evaluate. \param show each answer piece by piece; may
/// be empty \throws UsageError as TokenSampler, StopStrings and generate()
std::vector<Answer> answers(Llama& network, const Prompter& prompter, const EncodedPrompts& prompts,
                            const AnswerOptions& options, const ShowText& show = {});

/// How many prompts an evaluation has answered together.
inline constexpr std::int64_t kAnswersAtOnce = 8;
/// The rank that answers prompt `number` of an evaluation. The ranks take groups of kAnswersAtOnce in turn: which
/// prompts are answered together, and so each answer to the last bit, does not depend on the number of ranks.
inline int answering_rank(std::int64_t number, int num_ranks) {
  return static_cast<int>(number / kAnswersAtOnce % num_ranks);
}
/// The most memory that greedy_answers() takes.
std::int64_t greedy_answer_bytes(const AnswerMemory& memory, const EncodedPrompts& prompts, std::int64_t max_new);
/// The greedy answers to prompts, of `max_new` tokens at most; consecutive groups of kAnswersAtOnce are answered
/// together. The network must be in Mode::evaluate.
std::vector<std::string> greedy_answers(Llama& network, const Prompter& prompter, const EncodedPrompts& prompts,
                                        std::int64_t max_new);

}  // namespace multicard
