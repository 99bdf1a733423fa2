#include "postproc/BeforeAfter.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Html.hpp"
#include "postproc/Labels.hpp"

namespace multicard::post {

namespace {

constexpr std::size_t kMostUnfolded = 2;

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

std::string number(double value) {
  return std::isfinite(value) ? significant(value) : "–";
}

/// "−0.61", "+0.02"
std::string with_sign(double value, const std::string& digits) {
  return (value < 0 ? "−" : "+") + digits;
}

std::string difference(const Change& change) {
  if (!change.known()) return "–";
  const double by = change.after - change.before;
  return with_sign(by, alike(std::abs(by), change.after, 4));
}

std::string relative(const Change& change) {
  if (!change.known()) return "–";
  const double by = change.after / change.before - 1;
  return with_sign(by, percent(std::abs(by)));
}

Estimate share_of(double share, double questions) {
  if (!std::isfinite(share) || !std::isfinite(questions)) return {};
  return estimate_of_share(std::lround(share * questions), std::lround(questions));
}

/// "12 of 50, 24.0 %"
std::string hits(double share, double questions) {
  if (!std::isfinite(share)) return "–";
  if (!std::isfinite(questions)) return percent(share);
  return fmt::format("{} of {}, {}", grouped(std::lround(share * questions)), grouped(std::lround(questions)),
                     percent(share));
}

std::string points(const Change& change) {
  if (!change.known()) return "–";
  const double by = 100 * (change.after - change.before);
  return with_sign(by, fmt::format("{:.1f} points", std::abs(by)));
}

std::string interval_text(const Estimate& share) {
  return fmt::format("{:.1f} to {:.1f} %", 100 * share.interval->low, 100 * share.interval->high);
}

/// What so few questions can tell; empty without two scores.
std::string questions_note(const TuningReport& report) {
  const Estimate before = share_of(report.exact_match.before, report.questions.before);
  const Estimate after = share_of(report.exact_match.after, report.questions.after);
  if (!before.interval || !after.interval) return {};
  return fmt::format(
      "95 % intervals of the exact match: {} before, {} after{}", interval_text(before), interval_text(after),
      differ(before, after) ? "." : "; they overlap, so that so few questions do not tell the two apart.");
}

std::string run_html(const TuningReport& report) {
  std::string out;
  HtmlTable changes{"On the test set and on questions, before the first step and after the last.",
                    {"measure", "before", "after", "change"},
                    {}};
  for (const ChangeLine& line : change_lines(report))
    changes.rows.push_back({line.measure, line.before, line.after, line.change});
  if (!changes.rows.empty()) out += table(changes);
  if (const std::string note = questions_note(report); !note.empty())
    out += fmt::format("<p class=\"note\">{}</p>\n", sentence(note));
  for (const AnswerPair& pair : report.answers)
    out += spoken(pair.prompt, {{"before", pair.before.empty() ? "–" : pair.before},
                                {"after", pair.after.empty() ? "–" : pair.after}});
  return out;
}

}  // namespace

std::optional<TuningReport> reduce_tuning(const RunSummary& summary) {
  const auto task = summary.text.find("task");
  if (task == summary.text.end() || task->second != "llm") return std::nullopt;
  TuningReport report;
  report.loss = change_of(summary, "eval_loss");
  report.perplexity = change_of(summary, "eval_perplexity");
  report.exact_match = change_of(summary, "eval_exact_match");
  report.questions = change_of(summary, "eval_questions");
  report.answers = answers_of(summary);
  const bool says_something = std::isfinite(report.loss.before) || std::isfinite(report.exact_match.before) ||
                              std::isfinite(report.exact_match.after) || !report.answers.empty();
  return says_something ? std::optional(report) : std::nullopt;
}

std::vector<ChangeLine> change_lines(const TuningReport& report) {
  std::vector<ChangeLine> lines;
  if (report.loss.any()) {
    lines.push_back({"test loss", number(report.loss.before), number(report.loss.after), difference(report.loss)});
    lines.push_back(
        {"perplexity", number(report.perplexity.before), number(report.perplexity.after), relative(report.perplexity)});
  }
  if (report.exact_match.any())
    lines.push_back({"exact match", hits(report.exact_match.before, report.questions.before),
                     hits(report.exact_match.after, report.questions.after), points(report.exact_match)});
  return lines;
}

std::vector<TunedRun> tuned_runs(const Study& study) {
  std::vector<TunedRun> tuned;
  for (const Cell& cell : study.cells)
    for (const std::size_t i : cell.runs) {
      const RunReport& run = study.runs[i];
      if (!run.tuning) continue;
      const std::string heading =
          fmt::format("run {}: {}, {}", run.name, study.configurations[cell.configuration].full_label(),
                      counted(run.ranks, "rank"));
      tuned.push_back({&run, study.runs.size() == 1 ? std::string() : heading});
    }
  return tuned;
}

std::string before_after_html(const Study& study) {
  const std::vector<TunedRun> tuned = tuned_runs(study);
  std::string out;
  for (const TunedRun& entry : tuned) {
    const std::string html = run_html(*entry.run->tuning);
    if (entry.heading.empty())
      out += html;
    else
      out += tuned.size() > kMostUnfolded ? folded(capitalised(entry.heading), html)
                                          : subheading(capitalised(entry.heading)) + html;
  }
  return out;
}

}  // namespace multicard::post
