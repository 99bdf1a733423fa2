#include <cmath>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/study/BeforeAfter.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

constexpr std::size_t kMostUnfolded = 2;

/// Exact match with Wilson's interval; the number of answers is recovered from their share.
Estimate share_of(double share, double questions) {
  if (!std::isfinite(share) || !std::isfinite(questions)) return {};
  return estimate_of_share(std::lround(share * questions), std::lround(questions));
}

std::string interval_text(const Estimate& share) {
  return fmt::format("{} to {}", percent(share.interval->low), percent(share.interval->high));
}

/// The intervals and whether they overlap; empty without two scores.
std::string questions_note(const TuningReport& report) {
  const Estimate before = share_of(report.exact_match.before, report.questions.before);
  const Estimate after = share_of(report.exact_match.after, report.questions.after);
  if (!before.interval || !after.interval) return {};
  return fmt::format(
      "95 % intervals of the exact match: {} before, {} after{}", interval_text(before), interval_text(after),
      significantly_different(before, after) ? "."
                                             : "; they overlap: with so few questions the change is not significant.");
}

/// Scores, the note on their intervals, then prompts with both answers.
std::string run_html(const TuningReport& report) {
  std::string out;
  HtmlTable changes{"before-after",
                    "On the test set and on questions, before the first step and after the last.",
                    {"measure", "before", "after", "change"},
                    {}};
  for (const ChangeLine& line : change_lines(report))
    changes.rows.push_back({line.measure, line.before, line.after, line.change});
  if (!changes.rows.empty()) out += table(changes);
  if (const std::string note = questions_note(report); !note.empty())
    out += fmt::format("<p class=\"note\">{}</p>\n", sentence(note));
  for (const AnswerPair& pair : report.answers)
    out += transcript(pair.prompt, {{"before", pair.before.empty() ? "–" : pair.before},
                                    {"after", pair.after.empty() ? "–" : pair.after}});
  return out;
}

}  // namespace

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
