#include "tasks/GenerationEvaluation.hpp"

#include <fmt/format.h>

#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"

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

GenerationEvaluation::GenerationEvaluation(const EvaluateOptions& options, const std::string& folder,
                                           const std::string& template_name, const std::string& date, Llama& network,
                                           const Communicator& communicator)
    : network_(network),
      communicator_(communicator),
      prompter_(agreed(communicator, [&] { return Prompter(folder, template_name, date); })),
      prompts_(options.prompts),
      max_new_(options.max_new) {
  if (options.questions) questions_.emplace(*options.questions, prompter_, network.config(), communicator);
  agreed(communicator, [&] {
    for (const std::string& prompt : prompts_) {
      encoded_.push_back(prompter_.encode(prompt));
      check_room(encoded_.back(), network.config(), max_new_, fmt::format("the prompt '{}'", prompt),
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
  const auto said = [&](const std::vector<TokenId>& prompt, std::int64_t max_new) {
    return answer(network_, prompter_, prompt, max_new);
  };
  return questions_->score(said, communicator_);
}

std::vector<std::string> GenerationEvaluation::answer_prompts() const {
  const Evaluating evaluating(network_);
  const auto num_ranks = static_cast<std::size_t>(communicator_.size());
  std::vector<std::string> answers(prompts_.size());
  agreed_after_long_work(communicator_, [&] {
    for (auto i = static_cast<std::size_t>(communicator_.rank()); i < encoded_.size(); i += num_ranks)
      answers[i] = answer(network_, prompter_, encoded_[i], max_new_);
  });
  for (std::size_t i = 0; i < answers.size(); ++i)
    answers[i] = communicator_.broadcast(answers[i], static_cast<int>(i % num_ranks));
  return answers;
}

}  // namespace multicard
