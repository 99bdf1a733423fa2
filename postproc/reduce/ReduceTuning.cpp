#include "postproc/reduce/ReduceTuning.hpp"

#include <cmath>

namespace multicard::post {

namespace {

Change change_of(const RunSummary& summary, const std::string& metric) {
  const auto found = summary.metrics.find(metric);
  if (found == summary.metrics.end() || found->second.steps.empty()) return {};
  const MetricSeries& series = found->second;
  Change change;
  if (series.steps.front() == 0) change.before = series.values.front();
  if (series.steps.back() > 0) change.after = series.values.back();
  return change;
}

std::vector<AnswerPair> answers_of(const RunSummary& summary) {
  const auto found = summary.tables.find("answers");
  if (found == summary.tables.end()) return {};
  const auto column = [&](const char* name) {
    const auto texts = found->second.text.find(name);
    return texts == found->second.text.end() ? std::vector<std::string>() : texts->second;
  };
  const std::vector<std::string> prompts = column("prompt");
  std::vector<std::string> before = column("before"), after = column("after");
  before.resize(prompts.size());
  after.resize(prompts.size());
  std::vector<AnswerPair> answers;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    answers.push_back({prompts[i], before[i], after[i]});
  return answers;
}

}  // namespace

std::optional<TuningReport> reduce_tuning(const RunSummary& summary) {
  const auto task = summary.text.find("task");
  if (task == summary.text.end() || task->second != "llm") return std::nullopt;
  TuningReport report;
  report.loss = change_of(summary, "eval_loss");
  report.perplexity = change_of(summary, "eval_perplexity");
  report.reward_margin = change_of(summary, "eval_reward_margin");
  report.reward_accuracy = change_of(summary, "eval_reward_accuracy");
  report.exact_match = change_of(summary, "eval_exact_match");
  report.questions = change_of(summary, "eval_questions");
  report.answers = answers_of(summary);
  const bool says_something = std::isfinite(report.loss.before) || std::isfinite(report.exact_match.before) ||
                              std::isfinite(report.exact_match.after) || !report.answers.empty();
  return says_something ? std::optional(report) : std::nullopt;
}

}  // namespace multicard::post
