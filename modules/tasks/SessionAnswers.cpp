// What a session asks the model before its first step and after its last.

#include <algorithm>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "tasks/Interview.hpp"
#include "tasks/Session.hpp"

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

/// Whether there is something to ask, which takes its time.
bool Session::is_asked() const {
  const Interview* interview = task_->interview();
  return interview != nullptr && (interview->has_questions() || !interview->prompts().empty());
}

void Session::ask(Moment moment) {
  if (!is_asked()) return;
  const TimePoint start = SteadyClock::now();
  const Interview& interview = *task_->interview();
  const bool scores = interview.has_questions() && (moment == Moment::end || options_.evaluate.at_start);
  if (!scores && interview.prompts().empty()) return;
  std::optional<QuestionScore> score;
  double seconds_of_questions = 0;
  trainer_->evaluate_with([&] {
    if (scores) score = interview.score_questions();
    seconds_of_questions = seconds_since(start);
    (moment == Moment::start ? answers_before_ : answers_after_) = interview.answer_prompts();
  });
  const double seconds = seconds_since(start);
  recorder_.add_epoch_seconds("evaluate", epoch(), seconds);
  stalled_s_ += seconds;
  if (score) {
    recorder_.add_metric("eval_exact_match", trainer_->num_completed(), score->exact_match());
    recorder_.add_metric("eval_questions", trainer_->num_completed(), static_cast<double>(score->num_questions));
  }
  if (feed_) feed_->flush();
  progress_.finish_line();
  if (progress_.quiet()) return;
  if (score)
    log_info(fmt::format("{:<10}exact match {}, {}", "answers", score->text(), human_duration(seconds_of_questions)));
  log_answers(moment);
}

void Session::log_answers(Moment moment) const {
  const Table table = answers_table();
  for (std::size_t i = 0; i < task_->interview()->prompts().size(); ++i) {
    log_text("prompt", table.text.at("prompt")[i]);
    log_text("before", table.text.at("before")[i]);
    if (moment == Moment::end) log_text("after", table.text.at("after")[i]);
  }
}

Table Session::answers_table() const {
  const std::vector<std::string>& prompts = task_->interview()->prompts();
  Table table;
  table.text["prompt"] = prompts;
  table.text["before"] = answers_before_;
  table.text["after"] = answers_after_;
  for (const char* column : {"before", "after"})
    table.text[column].resize(prompts.size());
  return table;
}

void Session::add_answers(RunSummary& summary) const {
  const Interview* interview = task_->interview();
  if (interview != nullptr && !interview->prompts().empty()) summary.tables[kAnswers] = answers_table();
}

/// The deck may ask other prompts than before: each keeps its own answer.
void Session::take_up_answers(const RunSummary& before) {
  const auto found = before.tables.find(kAnswers);
  const Interview* interview = task_->interview();
  if (found == before.tables.end() || interview == nullptr) return;
  const auto column = [&](const char* name) {
    const auto texts = found->second.text.find(name);
    return texts == found->second.text.end() ? std::vector<std::string>() : texts->second;
  };
  const std::vector<std::string> asked = column("prompt"), given = column("before");
  for (const std::string& prompt : interview->prompts()) {
    const auto place = std::find(asked.begin(), asked.end(), prompt) - asked.begin();
    const bool is_known = place < static_cast<std::ptrdiff_t>(std::min(asked.size(), given.size()));
    answers_before_.push_back(is_known ? given[static_cast<std::size_t>(place)] : std::string());
  }
}

}  // namespace multicard
