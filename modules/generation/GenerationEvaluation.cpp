#include "generation/GenerationEvaluation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "io/ForeignFormat.hpp"

namespace multicard {

namespace {

/// While one exists, the network evaluates.
class Evaluating {
 public:
  explicit Evaluating(Llama& network) : network_(network) { network_.set_training(Mode::evaluate); }
  ~Evaluating() { network_.set_training(Mode::train); }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  Llama& network_;
};

}  // namespace

GenerationEvaluation::GenerationEvaluation(const GenerationOptions& options, const std::string& folder,
                                           const std::string& template_name, const std::string& date, Llama& network,
                                           const Communicator& communicator)
    : network_(network),
      communicator_(communicator),
      prompter_(agreed(communicator, [&] { return Prompter(folder, template_name, date); })),
      prompts_(options.prompts),
      max_new_(options.max_new) {
  warn_of(network.config().generation_remarks);
  if (options.questions) questions_.emplace(*options.questions, prompter_, network.config(), communicator);
  agreed(communicator, [&] {
    for (const std::string& prompt : prompts_) {
      encoded_.push_back(prompter_.encode(prompt));
      check_prompt(encoded_.back(), network.config(), max_new_, fmt::format("the prompt '{}'", prompt),
                   "evaluate.max_new");
    }
  });
}

std::string GenerationEvaluation::text() const {
  std::vector<std::string> parts;
  if (questions_) parts.push_back(grouped(questions_->size()) + (questions_->size() == 1 ? " question" : " questions"));
  if (!prompts_.empty())
    parts.push_back(std::to_string(prompts_.size()) + (prompts_.size() == 1 ? " prompt" : " prompts"));
  return join(parts, ", ");
}

QuestionScore GenerationEvaluation::score_questions() const {
  const Evaluating evaluating(network_);
  return questions_->score([&](const EncodedPrompts& prompts, std::int64_t max_new) { return said(prompts, max_new); },
                           communicator_);
}

std::vector<std::string> GenerationEvaluation::said(const EncodedPrompts& prompts, std::int64_t max_new) const {
  std::vector<std::string> answers;
  network_.with_unequal_passes([&] { answers = greedy_answers(network_, prompter_, prompts, max_new); });
  return answers;
}

EncodedPrompts GenerationEvaluation::own_prompts() const {
  EncodedPrompts own;
  for (std::size_t i = 0; i < encoded_.size(); ++i)
    if (answering_rank(static_cast<std::int64_t>(i), communicator_.size()) == communicator_.rank())
      own.push_back(encoded_[i]);
  return own;
}

std::int64_t GenerationEvaluation::answer_bytes() const {
  if (!answer_bytes_) answer_bytes_ = measured_answer_bytes();
  return *answer_bytes_;
}

// The table of angles grows to the longest position and is kept. It is made before the measurement so that it counts
// among what lasts, not as work of an answer.
std::int64_t GenerationEvaluation::measured_answer_bytes() const {
  const EncodedPrompts own = own_prompts(), asked = questions_ ? questions_->prompts() : EncodedPrompts();
  std::int64_t longest = 0;  // the angles of its positions stay
  for (const std::vector<TokenId>& prompt : own)
    longest = std::max(longest, std::ssize(prompt) + max_new_);
  for (const std::vector<TokenId>& prompt : asked)
    longest = std::max(longest, std::ssize(prompt) + questions_->max_new());
  const Evaluating evaluating(network_);
  network_.prepare_positions(longest);
  std::int64_t bytes = 0;
  network_.with_unequal_passes([&] {
    if (own.empty() && asked.empty()) return;
    const AnswerMemory memory(network_);
    bytes = std::max(greedy_answer_bytes(memory, own, max_new_),
                     questions_ ? greedy_answer_bytes(memory, asked, questions_->max_new()) : 0);
  });
  return bytes;
}

std::vector<std::string> GenerationEvaluation::answer_prompts() const {
  const Evaluating evaluating(network_);
  const auto rank_of = [&](std::size_t i) {
    return answering_rank(static_cast<std::int64_t>(i), communicator_.size());
  };
  // Ranks generate for different times, minutes apart: they meet where waiting has no time-out. The broadcasts then run
  // through the prompts in one order on all ranks.
  std::vector<std::string> answers;
  agreed_after_long_work(communicator_, [&] { answers = said(own_prompts(), max_new_); });
  std::vector<std::string> all;
  auto next = answers.begin();
  for (std::size_t i = 0; i < encoded_.size(); ++i)
    all.push_back(communicator_.broadcast(rank_of(i) == communicator_.rank() ? *next++ : std::string(), rank_of(i)));
  return all;
}

}  // namespace multicard
