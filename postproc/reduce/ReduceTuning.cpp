#include <cmath>

#include "postproc/reduce/ReduceParts.hpp"

namespace multicard::post {

namespace {

/// Evaluations at step 0 are before training; the last one of a later step is after it.
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
  // A run that ended early lacks the answers after it: they stay empty.
  before.resize(prompts.size());
  after.resize(prompts.size());
  std::vector<AnswerPair> answers;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    answers.push_back({prompts[i], before[i], after[i]});
  return answers;
}

}  // namespace

const std::array<TuningReport::Score, 6> TuningReport::kScores{
    {{"eval_loss", "test_loss", &TuningReport::loss},
     {"eval_perplexity", "perplexity", &TuningReport::perplexity},
     {"eval_reward_margin", "reward_margin", &TuningReport::reward_margin},
     {"eval_reward_accuracy", "reward_accuracy", &TuningReport::reward_accuracy},
     {"eval_exact_match", "exact_match", &TuningReport::exact_match},
     {"eval_questions", "questions", &TuningReport::questions}}};

std::optional<TuningReport> reduce_tuning(const RunSummary& summary) {
  const auto task = summary.text.find("task");
  if (task == summary.text.end() || task->second != "llm") return std::nullopt;
  TuningReport report;
  for (const TuningReport::Score& score : TuningReport::kScores)
    report.*score.change = change_of(summary, score.metric);
  report.answers = answers_of(summary);
  const bool says_something = std::isfinite(report.loss.before) || std::isfinite(report.exact_match.before) ||
                              std::isfinite(report.exact_match.after) || !report.answers.empty();
  return says_something ? std::optional(report) : std::nullopt;
}

}  // namespace multicard::post
