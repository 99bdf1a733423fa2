#pragma once
/// \file Questions whose answers end with a number, as GSM8K has them (Cobbe et al. 2021, arXiv 2110.14168).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/Communicator.hpp"
#include "generation/Answers.hpp"
#include "generation/GenerationOptions.hpp"

namespace multicard {

/// The number after the last "####", else the last one of the text, without commas and currency signs, in its shortest
/// decimal notation: "18" of "It is $18.00.", "-1234.5" of "#### -1,234.50". Nothing where there is none.
std::optional<std::string> final_number(std::string_view text);

/// Over all ranks.
struct QuestionScore {
  std::int64_t num_right = 0, num_questions = 0;

  /// The share of questions whose answer ends with the right number.
  double exact_match() const { return static_cast<double>(num_right) / static_cast<double>(num_questions); }
  /// "0.24 (12 of 50 questions)"
  std::string text() const;
};

/// The questions of a file, shared out over the ranks (answering_rank).
class Questions {
 public:
  /// Collective. \throws DataError with the number of the line for a record without question, answer or final number,
  /// UsageError for a question too long for the model
  Questions(const QuestionOptions& options, const Prompter& prompter, const LlamaConfig& config,
            const Communicator& communicator);

  /// Over all ranks.
  std::int64_t size() const { return num_questions_; }
  /// Of this rank's questions.
  const EncodedPrompts& prompts() const { return prompts_; }
  /// Tokens of an answer at most.
  std::int64_t max_new() const { return max_new_; }
  /// The answers to the prompts of questions, of `max_new` tokens at most.
  using Answers = std::function<std::vector<std::string>(const EncodedPrompts& prompts, std::int64_t max_new)>;
  /// Collective. Ranks that are done wait for the others without a time-out.
  QuestionScore score(const Answers& answers, const Communicator& communicator) const;

 private:
  EncodedPrompts prompts_;            ///< of this rank's questions
  std::vector<std::string> numbers_;  ///< that are right
  std::int64_t num_questions_ = 0;
  std::int64_t max_new_;
};

}  // namespace multicard
