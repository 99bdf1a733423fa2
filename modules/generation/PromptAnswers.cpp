#include "generation/PromptAnswers.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "generation/GenerationEvaluation.hpp"

namespace multicard {

namespace {

constexpr const char* kAnswers = "answers";

/// A text of several lines below a label.
void log_text(const char* label, const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i)
    log_info(i > 0 && lines[i].empty() ? "" : fmt::format("{:<10}{}", i == 0 ? label : "", lines[i]));
}

}  // namespace

bool PromptAnswers::is_enabled() const {
  return generation_evaluation_ != nullptr &&
         (generation_evaluation_->has_questions() || !generation_evaluation_->prompts().empty());
}

bool PromptAnswers::scores(GenerationPhase phase) const {
  return generation_evaluation_->has_questions() && (phase == GenerationPhase::end || scores_at_start_);
}

bool PromptAnswers::is_due(GenerationPhase phase) const {
  return is_enabled() && (scores(phase) || !generation_evaluation_->prompts().empty());
}

std::optional<QuestionScore> PromptAnswers::evaluate(GenerationPhase phase, double& seconds) {
  const TimePoint start = SteadyClock::now();
  std::optional<QuestionScore> score;
  if (scores(phase)) score = generation_evaluation_->score_questions();
  seconds += seconds_since(start);
  (phase == GenerationPhase::start ? before_ : after_) = generation_evaluation_->answer_prompts();
  return score;
}

void PromptAnswers::log(GenerationPhase phase) const {
  const Table answers = table();
  for (std::size_t i = 0; i < generation_evaluation_->prompts().size(); ++i) {
    log_text("prompt", answers.text.at("prompt")[i]);
    log_text("before", answers.text.at("before")[i]);
    if (phase == GenerationPhase::end) log_text("after", answers.text.at("after")[i]);
  }
}

Table PromptAnswers::table() const {
  const std::vector<std::string>& prompts = generation_evaluation_->prompts();
  Table table;
  table.text["prompt"] = prompts;
  table.text["before"] = before_;
  table.text["after"] = after_;
  for (const char* column : {"before", "after"})
    table.text[column].resize(prompts.size());
  return table;
}

void PromptAnswers::add_to(RunSummary& summary) const {
  if (generation_evaluation_ != nullptr && !generation_evaluation_->prompts().empty())
    summary.tables[kAnswers] = table();
}

// By text and not by place: where the deck has other prompts now, a prompt that is new has no answer from before the
// first step, and its cell stays empty.
void PromptAnswers::resume(const std::map<std::string, Table>& tables) {
  const auto found = tables.find(kAnswers);
  if (found == tables.end() || generation_evaluation_ == nullptr) return;
  const auto column = [&](const char* name) {
    const auto texts = found->second.text.find(name);
    return texts == found->second.text.end() ? std::vector<std::string>() : texts->second;
  };
  const std::vector<std::string> prompts = column("prompt"), given = column("before");
  for (const std::string& prompt : generation_evaluation_->prompts()) {
    const auto place = std::find(prompts.begin(), prompts.end(), prompt) - prompts.begin();
    const bool is_known = place < static_cast<std::ptrdiff_t>(std::min(prompts.size(), given.size()));
    before_.push_back(is_known ? given[static_cast<std::size_t>(place)] : std::string());
  }
}

}  // namespace multicard
