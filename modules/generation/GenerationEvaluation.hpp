#pragma once
/// \file Evaluation of a language model by what it generates (evaluate.questions, evaluate.prompts).

#include <optional>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "generation/Answers.hpp"
#include "generation/GenerationOptions.hpp"
#include "generation/Questions.hpp"

namespace multicard {

/// Questions and prompts of a deck. Answering leaves the network as it was, in Mode::train.
class GenerationEvaluation {
 public:
  /// Collective. `network` must outlive it. \param folder of the model
  /// \param template_name of the training data \param date that the template wrote there; both: see Prompter
  /// \throws DataError and UsageError on all ranks: tokenizer, questions, texts too long for the model
  GenerationEvaluation(const GenerationOptions& options, const std::string& folder, const std::string& template_name,
                       const std::string& date, Llama& network, const Communicator& communicator);

  /// "20 questions, 2 prompts"
  std::string text() const;
  bool has_questions() const { return questions_.has_value(); }
  /// Collective. There must be questions.
  QuestionScore score_questions() const;

  const std::vector<std::string>& prompts() const { return prompts_; }
  /// The most memory that this rank's answers take on the device; on a GPU without the rounding of its allocator.
  /// Measured once. \throws c10::Error of a device that fails
  std::int64_t answer_bytes() const;
  /// Collective. One answer for each prompt, the same ones on all ranks.
  std::vector<std::string> answer_prompts() const;

 private:
  /// Those that this rank answers.
  EncodedPrompts own_prompts() const;
  /// Collective where the network's weights are split over ranks: the answers to this rank's prompts.
  std::vector<std::string> said(const EncodedPrompts& prompts, std::int64_t max_new) const;
  std::int64_t measured_answer_bytes() const;

  Llama& network_;
  Communicator communicator_;
  Prompter prompter_;
  std::optional<Questions> questions_;
  std::vector<std::string> prompts_;
  EncodedPrompts encoded_;  ///< of prompts_
  std::int64_t max_new_;
  mutable std::optional<std::int64_t> answer_bytes_;
};

}  // namespace multicard
